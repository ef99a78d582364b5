"""What the client says of its own troubles: rarely, and never with keys or contents."""

from __future__ import annotations

import logging
import time

logger = logging.getLogger("remembrancer")
#: Time between two lines about the same kind of trouble.
REPEAT_SECONDS = 60.0

_said: dict[str, float] = {}


def complain(kind: str, message: str, *values: object) -> None:
    """Logs a warning, unless one of this kind was logged within the last minute."""
    now = time.monotonic()
    last = _said.get(kind)
    if last is None or now - last >= REPEAT_SECONDS:
        _said[kind] = now
        logger.warning(message, *values)
