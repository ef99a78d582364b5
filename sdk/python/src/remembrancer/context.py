"""Contexts as the recorder takes them: what the context before holds is not sent again, and no text twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from blake3 import blake3

from .json_value import encode, text
from .payloads import Part

#: A part with more bytes than this is sent as a blob.
INLINE_PART_BYTES_MAX = 16 * 1024
#: Once an event's parts have more bytes than this together, every further one is sent as a blob.
INLINE_EVENT_BYTES_MAX = 96 * 1024
#: A list of parts that is longer than this as JSON, in bytes, is sent as a blob of its own.
INLINE_LIST_BYTES_MAX = 160 * 1024
#: Largest blob. Of a larger text there is the hash alone.
BLOB_BYTES_MAX = 32 * 1024 * 1024
PARTS_MAX = 100_000
#: Hashes of texts that a session remembers to have sent. Beyond it, texts are sent anew, which is no error.
_SENT_MAX = 500_000


@dataclass
class Captured:
    """What an event has to say of a context, and the blobs that it introduces."""

    data: dict[str, Any]
    blobs: dict[str, bytes] = field(default_factory=dict)


def digest_of(content: str | bytes) -> str:
    """The hash that a text or a blob is addressed by: BLAKE3 of its bytes, in hexadecimal."""
    return blake3(content.encode() if isinstance(content, str) else content).hexdigest()


class ContextWriter:
    """Remembers what a session said, and writes each context by it.

    What it holds grows with the number of distinct texts, not with their size. It is told when something that it wrote was
    lost on the way, and then writes the next context whole.
    """

    def __init__(self) -> None:
        self._sent: set[str] = set()
        self._turn = 0
        self._before: list[dict[str, Any]] = []
        # Texts of the context before, whose hashes need not be computed again.
        self._hashes: dict[str, str] = {}

    def forget(self) -> None:
        """Something was lost: nothing is taken for known any more."""
        self._sent.clear()
        self._before = []
        self._turn = 0

    def said(self, content: str) -> None:
        """A text was recorded by another event of the session; parts can name it by its hash."""
        if len(self._sent) < _SENT_MAX:
            self._sent.add(digest_of(content))

    def write(self, turn: int, parts: Sequence[Part], head: dict[str, Any]) -> Captured:
        """The context of a turn, given as the whole list of its parts. `head` is what the payload says besides."""
        if len(parts) > PARTS_MAX:
            head = {**head, "incomplete": f"{len(parts) - PARTS_MAX} more parts than a context may have were left out"}
            parts = parts[:PARTS_MAX]
        hashes: dict[str, str] = {}
        texts = [_text_of(part) for part in parts]
        whole = [self._by_hash(part, said, hashes) for part, said in zip(parts, texts, strict=True)]
        known = len(self._before)
        data = {"turn": turn, **head}
        if self._turn and self._turn < turn and known <= len(whole) and whole[:known] == self._before:
            data["base"] = self._turn
        else:
            known = 0
        captured = Captured(data)
        listed = self._appended(whole[known:], texts[known:], captured.blobs)
        self._before, self._turn, self._hashes = whole, turn, hashes
        encoded = encode(listed)
        data["parts"] = listed
        if len(encoded) > INLINE_LIST_BYTES_MAX:
            data["parts"] = []
            data["parts_blob"] = self._blob(encoded, digest_of(encoded), captured.blobs)
        return captured

    def _by_hash(self, part: Part, said: str | None, hashes: dict[str, str]) -> dict[str, Any]:
        # Written out, since it runs for every part of every turn.
        listed: dict[str, Any] = {"kind": part.kind}
        if said is not None:
            digest = hashes.get(said) or self._hashes.get(said) or digest_of(said)
            hashes[said] = digest
            listed["hash"] = digest
        else:
            listed["hash"] = part.hash
            if part.withheld is not None:
                listed["withheld"] = text(part.withheld)
            if part.encrypted:
                listed["encrypted"] = True
        if part.origin is not None:
            listed["origin"] = part.origin
        if part.message is not None:
            listed["message"] = part.message
        if part.name is not None:
            listed["name"] = text(part.name)
        if part.call_id is not None:
            listed["call_id"] = text(part.call_id)
        if part.tool is not None:
            listed["tool"] = text(part.tool)
        if part.stub:
            listed["stub"] = True
        if part.sources:
            listed["sources"] = [text(source) for source in part.sources]
        return listed

    def _appended(
        self, whole: list[dict[str, Any]], texts: Sequence[str | None], blobs: dict[str, bytes]
    ) -> list[dict[str, Any]]:
        inline = 0
        listed = []
        for part, said in zip(whole, texts, strict=True):
            if said is not None and part["hash"] not in self._sent:
                content = said.encode()
                # As JSON, where a control character takes six bytes.
                size = inline + len(encode(said)) if len(content) <= INLINE_PART_BYTES_MAX else 0
                if len(content) > BLOB_BYTES_MAX:
                    part = {**part, "withheld": f"{len(content)} bytes, more than a blob may have"}
                elif 0 < size <= INLINE_EVENT_BYTES_MAX:
                    inline = size
                    self._remember(part["hash"])
                    part = {name: member for name, member in part.items() if name != "hash"} | {"text": said}
                else:
                    self._blob(content, part["hash"], blobs)
            listed.append(part)
        return listed

    def _blob(self, content: bytes, digest: str, blobs: dict[str, bytes]) -> str:
        if digest not in self._sent:
            self._remember(digest)
            blobs[digest] = content
        return digest

    def _remember(self, digest: str) -> None:
        if len(self._sent) < _SENT_MAX:
            self._sent.add(digest)


def _text_of(part: Part) -> str | None:
    if part.text is not None:
        return text(part.text)
    return "" if part.hash is None else None
