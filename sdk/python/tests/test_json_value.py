from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import Any

import pytest

from remembrancer.context import digest_of
from remembrancer.cut import fit, fit_text
from remembrancer.json_value import encode, plain


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: float


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")


class Model:
    def model_dump(self, mode: str) -> dict[str, str]:
        return {"mode": mode}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**53 - 1, 2**53 - 1),
        (2**53, "9007199254740992"),
        (-(2**60), str(-(2**60))),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (9.1e15, "9100000000000000.0"),
        (1e300, 1e300),
        ("a\ud800b", "a���b"),
        (b"\x00\x01", "(2 bytes)"),
        (Colour.RED, "red"),
        (Point(1, 2.5), {"x": 1, "y": 2.5}),
        ({1: "a", "1": "b"}, {"1": "a", "1'": "b"}),
        ((1, {2}), [1, [2]]),
        (datetime(2026, 1, 2, tzinfo=timezone.utc), "2026-01-02T00:00:00+00:00"),
        (Hostile(), "(Hostile that cannot be shown)"),
        (Model(), {"mode": "json"}),
        (True, True),
        (None, None),
    ],
)
def test_every_value_has_a_json_form(value: object, expected: object) -> None:
    made = plain(value)
    assert made == expected
    assert type(made) is type(expected)
    assert json.loads(encode(made)) == expected


def test_what_is_nested_without_end_is_cut_off() -> None:
    loop: list[Any] = []
    loop.append(loop)
    depth = 0
    made = plain(loop)
    while isinstance(made, list):
        made, depth = made[0], depth + 1
    assert depth == 48
    assert isinstance(made, str)


def test_what_is_too_long_is_cut_and_says_what_it_was() -> None:
    assert fit("short", 100) == "short"
    long = "ü" * 60_000
    cut = fit(long, 100 * 1024)
    assert cut["cut"]["bytes"] == 120_000
    assert cut["cut"]["blake3"] == digest_of(long)
    assert long.startswith(cut["cut"]["start"])
    assert len(cut["cut"]["start"].encode()) == 16 * 1024
    nested = fit({"rows": ["x" * 1000] * 200}, 100 * 1024)
    assert nested["cut"]["blake3"] == digest_of(encode({"rows": ["x" * 1000] * 200}))
    # Control characters take six bytes each as JSON.
    assert len(encode(fit("\x01" * 200_000, 100 * 1024))) < 110 * 1024


def test_texts_of_a_response_fit_together() -> None:
    texts = fit_text(["first", "\x02" * 100_000, "third"], 160 * 1024)
    assert texts[0] == "first"
    assert "[cut: 100000 bytes, BLAKE3 " + digest_of("\x02" * 100_000) in texts[1]
    assert len(encode(texts)) < 200 * 1024
