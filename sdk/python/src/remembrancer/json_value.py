"""JSON that the recorder takes, from whatever an agent hands over.

The recorder refuses what two readers could read differently (I-JSON, RFC 7493): lone surrogates, numbers that a double does not
hold, names that occur twice. An agent's values are made to fit here, so that no event is refused for them.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timezone
from enum import Enum
from typing import Any

INTEGER_MAX = 2**53 - 1
#: Deepest nesting of a value that is kept as it is. An event may be 64 deep, and a value stands a few levels below its top.
DEPTH_MAX = 48
#: Most members of one list or object that are kept.
ITEMS_MAX = 50_000
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def text(value: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot hold."""
    if value.isascii():
        return value
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return value


def plain(value: object, depth: int = 0) -> Any:  # noqa: ANN401 - JSON is any of its kinds
    """The value in JSON's own kinds. What has no such kind is written as its text, and never raises."""
    # The usual kinds first: this runs for every member of everything that is recorded.
    if type(value) is str:
        return text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, str):
        return text(str(value))
    if isinstance(value, int):
        return int(value) if -INTEGER_MAX <= value <= INTEGER_MAX else _integer_text(value)
    if isinstance(value, float):
        return _number(float(value))
    if depth >= DEPTH_MAX:
        return _shown(value)
    try:
        return _container(value, depth)
    except Exception:  # noqa: BLE001 - an agent's own classes may raise anything
        return _shown(value)


def encode(value: object) -> bytes:
    """Compact JSON of a value that :func:`plain` made."""
    return _ENCODER.encode(value).encode("utf-8")


def now() -> str:
    """The time, as an event's ``time`` says it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _integer_text(value: int) -> str:
    # Python refuses to print integers of more than some thousand digits in decimal.
    return str(value) if value.bit_length() < 10_000 else hex(value)


def _number(value: float) -> float | str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    # Between these two Python writes no exponent, and then only what is exact may be written.
    if INTEGER_MAX < abs(value) < 1e16:
        return repr(value)
    return value


def _container(value: object, depth: int) -> Any:  # noqa: ANN401 - JSON is any of its kinds
    if isinstance(value, Mapping):
        return _object(value.items(), depth)
    if isinstance(value, (list, tuple, set, frozenset)):
        return _list(value, depth)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"({len(value)} bytes)"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return _object(members, depth)
    # Pydantic's models, without depending on them.
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return plain(dump(mode="json"), depth + 1)
    return _shown(value)


def _object(members: Iterable[tuple[object, object]], depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for number, (name, member) in enumerate(members):
        if number == ITEMS_MAX:
            made["…"] = f"more than {ITEMS_MAX} members"
            break
        key = text(name) if isinstance(name, str) else _shown(name)
        while key in made:
            key += "'"
        made[key] = plain(member, depth + 1)
    return made


def _list(items: Iterable[object], depth: int) -> list[Any]:
    made: list[Any] = []
    for number, item in enumerate(items):
        if number == ITEMS_MAX:
            made.append(f"more than {ITEMS_MAX} items")
            break
        made.append(plain(item, depth + 1))
    return made


def _shown(value: object) -> str:
    try:
        return text(str(value))[:10_000]
    except Exception:  # noqa: BLE001 - a class may raise anything when it is shown
        return f"({type(value).__name__} that cannot be shown)"
