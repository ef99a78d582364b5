"""Values that are too long for an event: cut, with the size and the hash of the whole.

A cut value is ``{"cut": {"bytes": …, "blake3": …, "start": …}}``, as everything that records writes it: the size of the whole
and its BLAKE3 hash (of a string: its UTF-8 bytes; of anything else: its compact JSON), and its first bytes as text. Where the
value enters a context, the part there has the whole text under the same hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .context import digest_of
from .json_value import encode, plain

#: What is kept of a value that is cut.
START_BYTES = 16 * 1024


def fit(value: object, bytes_max: int) -> Any:  # noqa: ANN401 - JSON is any of its kinds
    """The value in JSON, cut if it is longer than allowed."""
    made = plain(value)
    encoded = encode(made)
    if len(encoded) <= bytes_max:
        return made
    whole = made.encode() if isinstance(made, str) else encoded
    start = whole[: min(bytes_max // 6, START_BYTES)].decode("utf-8", "ignore")
    return {"cut": {"bytes": len(whole), "blake3": digest_of(whole), "start": start}}


def fit_text(texts: Sequence[str], bytes_max: int) -> list[str]:
    """The texts, each whole if it fits into what is left, else its begin; what is cut off is said in its place."""
    kept: list[str] = []
    left = bytes_max
    for one in texts:
        content = one.encode()
        size = len(encode(one))
        if size <= left:
            kept.append(one)
            left -= size
            continue
        begin = content[: min(left // 6, START_BYTES)].decode("utf-8", "ignore")
        kept.append(f"{begin}\n[cut: {len(content)} bytes, BLAKE3 {digest_of(content)}]")
        left = 0
    return kept
