"""An agent that hands over whatever Python holds: what it says is told to the test that started it.

Arguments: the recorder's address, a key, a folder for the spool, a seed.
"""

from __future__ import annotations

import json
import math
import random
import struct
import sys
from dataclasses import asdict
from typing import Any, cast

from remembrancer import Client, Part, RequestedCall
from remembrancer.payloads import PartKind

draw = random.Random(int(sys.argv[4]))
DEPTH = 60


def words() -> str:
    """Any text at all: control characters, halves of surrogate pairs, the ends of Unicode, nothing."""
    length = draw.choice([0, 1, 5, 20, 20, 20, 2000])
    ends = [0x20, 0x80, 0x3000, 0x110000]
    letters = (
        draw.randrange(draw.choice(ends)) if draw.random() < 0.9 else draw.randrange(0xD800, 0xE000) for _ in range(length)
    )
    return "".join(map(chr, letters))


def value(depth: int = 0) -> object:
    """Any value at all."""
    kinds: list[Any] = [
        lambda: draw.getrandbits(draw.choice([3, 53, 54, 64, 200, 20_000])) * draw.choice([1, -1]),
        lambda: struct.unpack("<d", struct.pack("<Q", draw.getrandbits(64)))[0],
        lambda: draw.choice([None, True, math.nan, -math.inf, -0.0, 5e-324, 1.7976931348623157e308]),
        lambda: float(draw.randrange(2**52, 2**56)),
        lambda: nested(draw.randrange(100)),
        lambda: draw.choice([b"\x00\xff", object(), {words(), "set"}, main]),
        words,
    ]
    if depth < DEPTH:
        names: list[Any] = [words, lambda: draw.choice([None, 1, "1", 1.5, True])]
        kinds.append(lambda: [value(depth + 1) for _ in range(draw.randrange(4))])
        kinds.append(lambda: {draw.choice(names)(): value(depth + 1) for _ in range(draw.randrange(5))})
    return cast(object, draw.choice(kinds)())


def nested(depth: int) -> object:
    """Lists and objects in one another."""
    made: object = 1
    for _ in range(depth):
        made = [made] if draw.random() < 0.5 else {"a": made}
    return made


def main() -> None:
    """Records some sessions."""
    kinds: list[PartKind] = ["user", "system", "tool_result", "assistant"]
    with Client(sys.argv[1], sys.argv[2], spool=sys.argv[3], agent=words()) as client:
        for number in range(6):
            with client.session(f"{number} {words()}", label=words(), labels={words(): words()}, model=words()) as session:
                session.intent(words(), targets=[words()])
                session.constraint(words(), "fact", "rule " + words())
                parts: list[Part] = []
                for _ in range(12):
                    parts = parts[draw.randrange(len(parts) + 1) :] if draw.random() < 0.2 else parts
                    parts = parts + [Part(draw.choice(kinds), words(), call_id=words(), name=words()) for _ in range(3)]
                    session.context(parts)
                    session.response([words(), words()], calls=[RequestedCall(words(), words())])
                    session.tool_called(words(), words(), value())
                    session.tool_returned(words(), value(), effect=words())
                    session.custom("custom.thing", {words(): value(), "thing": value()})
                    session.report(value())
                    session.artifact(words(), words())
        is_sent = client.flush(60)
        print(json.dumps({"sent": is_sent, **asdict(client.stats())}))


if __name__ == "__main__":
    main()
