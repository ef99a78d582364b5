"""What is kept and sent: events and blobs, and how they lie in a spool file.

A spool file is a line that names the format, and frames::

    length of the body, 4 bytes, little-endian
    CRC-32 of kind and body, 4 bytes, little-endian
    kind, 1 byte: E for an event, B for a blob
    body: an event's JSON; or a blob's hash, 64 hexadecimal digits, and its bytes

A file whose writer was killed may end in the middle of a frame. A frame whose check sum is wrong is passed over.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Literal

HEADER = b"remembrancer spool 1\n"
#: Largest body that a reader believes in: a blob and its hash.
BODY_BYTES_MAX = 33 * 1024 * 1024
HASH_DIGITS = 64

_HEAD = struct.Struct("<IIc")
HEAD_BYTES = _HEAD.size

Kind = Literal["event", "blob"]
_LETTERS: dict[Kind, bytes] = {"event": b"E", "blob": b"B"}
_KINDS: dict[bytes, Kind] = {letter: kind for kind, letter in _LETTERS.items()}


@dataclass(frozen=True)
class Frame:
    """One event as it will be sent, or one blob behind its hash."""

    kind: Kind
    body: bytes

    @staticmethod
    def blob(digest: str, content: bytes) -> Frame:
        """A blob."""
        return Frame("blob", digest.encode("ascii") + content)

    @property
    def digest(self) -> str:
        """A blob's hash."""
        return self.body[:HASH_DIGITS].decode("ascii")

    @property
    def content(self) -> bytes:
        """A blob's bytes."""
        return self.body[HASH_DIGITS:]

    @property
    def size(self) -> int:
        """Bytes that it takes in a spool."""
        return HEAD_BYTES + len(self.body)

    def pack(self) -> bytes:
        """The frame as it lies in a file."""
        letter = _LETTERS[self.kind]
        check = zlib.crc32(self.body, zlib.crc32(letter))
        return _HEAD.pack(len(self.body), check, letter) + self.body


@dataclass(frozen=True)
class Head:
    """The first bytes of a frame, read."""

    body_bytes: int
    check: int
    letter: bytes

    @staticmethod
    def unpack(data: bytes) -> Head | None:
        """Reads a head; none if there is no whole one, or it is not one that was ever written."""
        if len(data) < HEAD_BYTES:
            return None
        body_bytes, check, letter = _HEAD.unpack_from(data)
        if body_bytes > BODY_BYTES_MAX or letter not in _KINDS:
            return None
        return Head(body_bytes, check, letter)

    def frame(self, body: bytes) -> Frame | None:
        """The frame with this head; none if the body is not what was written."""
        if len(body) != self.body_bytes or zlib.crc32(body, zlib.crc32(self.letter)) != self.check:
            return None
        kind = _KINDS[self.letter]
        if kind == "blob" and len(body) < HASH_DIGITS:
            return None
        return Frame(kind, body)
