"""An event as `POST /v1/events` takes it."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from .json_value import encode, text

EVENT_BYTES_MAX = 256 * 1024
EVENT_BLOBS_MAX = 256
AGENT_BYTES_MAX = 256
_ID = re.compile(r"^[A-Za-z0-9._:@-]{1,120}$")


def identifier(name: str) -> str:
    """The name where an id may have its characters and length, else a hash in its place."""
    name = str(name)
    if _ID.match(name):
        return name
    return "id-" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def agent_name(name: str | None) -> str | None:
    """The name as the recorder takes it: without control characters, and not longer than it may be."""
    if not name:
        return None
    shown = "".join(character for character in text(str(name)) if unicodedata.category(character) != "Cc")
    return shown.encode()[:AGENT_BYTES_MAX].decode("utf-8", "ignore") or None


def pack(
    id: str,
    session: str,
    kind: str,
    agent: str | None,
    time: str,
    blobs: Sequence[str],
    data: Mapping[str, Any],
) -> bytes:
    """The event's bytes: made once, so that sending them again is a duplicate and never another event."""
    envelope: dict[str, Any] = {"id": id, "session": session, "type": kind}
    if agent:
        envelope["agent"] = agent
    envelope["time"] = time
    if blobs:
        envelope["blobs"] = list(blobs)
    envelope["data"] = data
    return encode(envelope)
