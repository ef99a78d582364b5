"""Sends a batch: blobs that are missing first, then its events; and deals with what the recorder says of each."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from .complaint import complain
from .frame import Frame
from .outbox import Counts
from .private import open_file
from .transport import Answer, Result, Transport, TransportError

_UPLOADED_MAX = 50_000
_STARTS_MAX = 10_000
#: Size at which nothing more is written down of what the recorder rejected.
_REJECTED_BYTES_MAX = 16 * 1024 * 1024
_RECEIPTS_BYTES_MAX = 256 * 1024 * 1024


class Delivery:
    """What is known of the recorder's side: the blobs that it has, and how this process's sessions were started."""

    def __init__(
        self,
        transport: Transport,
        counts: Counts,
        notes: Path | None,
        receipts: Path | None,
        on_rejected: Callable[[str, str, Result], None],
    ) -> None:
        self._transport = transport
        self._counts = counts
        self._notes = notes
        self._receipts = receipts
        self._on_rejected = on_rejected
        self._uploaded: set[str] = set()
        self._starts: dict[str, bytes] = {}
        self._starts_lock = threading.Lock()

    def remember_start(self, session: str, event: bytes) -> None:
        """Keeps the first event of a session, so that it can be sent again where the recorder lacks it."""
        with self._starts_lock:
            self._starts[session] = event
            if len(self._starts) > _STARTS_MAX:
                del self._starts[next(iter(self._starts))]

    def send(self, frames: list[Frame]) -> None:
        """Sends a batch. Raises `TransportError` where that is to be tried again: all of it, which does no harm."""
        blobs = {frame.digest: frame.content for frame in frames if frame.kind == "blob"}
        self._upload(blobs)
        events = [frame.body for frame in frames if frame.kind == "event"]
        if events:
            self._post(events, blobs, is_repeated=False)

    def _upload(self, blobs: Mapping[str, bytes]) -> None:
        asked = [digest for digest in blobs if digest not in self._uploaded]
        missing = self._transport.missing(asked) if asked else set()
        for digest in asked:
            if digest in missing:
                try:
                    self._transport.put_blob(digest, blobs[digest])
                except TransportError as error:
                    if error.kind != "unfit":
                        raise
                    complain("blob", "the recorder does not take a blob of %d bytes: %s", len(blobs[digest]), error)
                    continue
            self._uploaded.add(digest)
        if len(self._uploaded) > _UPLOADED_MAX:
            self._uploaded.clear()

    def _post(self, events: list[bytes], blobs: Mapping[str, bytes], *, is_repeated: bool) -> None:
        try:
            answer = self._transport.post_events(events)
        except TransportError as error:
            if error.kind != "unfit":
                raise
            if len(events) == 1:
                self._reject(events[0], Result("rejected", "unfit", str(error)))
                return
            # One event can make a whole batch unfit: halves find it.
            half = len(events) // 2
            self._post(events[:half], blobs, is_repeated=is_repeated)
            self._post(events[half:], blobs, is_repeated=is_repeated)
            return
        again = self._sort(events, answer, is_repeated=is_repeated)
        if again:
            self._uploaded.difference_update(blobs)
            self._upload(blobs)
            self._post(again, blobs, is_repeated=True)

    def _sort(self, events: list[bytes], answer: Answer, *, is_repeated: bool) -> list[bytes]:
        """Counts what became of each event, and returns those that are worth a second attempt, with what they lacked."""
        again: list[bytes] = []
        starts: dict[str, bytes] = {}
        for event, result in zip(events, answer.results, strict=True):
            if result.status == "recorded":
                self._counts.recorded += 1
            elif result.status == "duplicate":
                self._counts.duplicate += 1
            elif not is_repeated and result.problem == "blob-missing":
                again.append(event)
            elif not is_repeated and result.problem == "unknown-session" and (start := self._start_of(event)):
                starts[_member(event, "session")] = start
                again.append(event)
            else:
                self._reject(event, result)
        if answer.receipt:
            self._keep_receipt(answer.receipt)
        return [*starts.values(), *again]

    def _start_of(self, event: bytes) -> bytes | None:
        with self._starts_lock:
            return self._starts.get(_member(event, "session"))

    def _reject(self, event: bytes, result: Result) -> None:
        self._counts.rejected += 1
        complain(
            f"rejected-{result.problem}",
            "the recorder rejected an event (%s): %s",
            result.problem or result.status,
            result.detail,
        )
        line = b'{"problem":%s,"detail":%s,"event":%s}\n' % (
            json.dumps(result.problem).encode(),
            json.dumps(result.detail).encode(),
            event,
        )
        self._note("rejected.ndjson", line)
        self._on_rejected(_member(event, "session"), _member(event, "type"), result)

    def _note(self, name: str, line: bytes) -> None:
        if self._notes is not None:
            _append(self._notes / name, line, _REJECTED_BYTES_MAX)

    def _keep_receipt(self, receipt: str) -> None:
        if self._receipts is not None:
            _append(self._receipts, receipt.encode() + b"\n", _RECEIPTS_BYTES_MAX)


def _append(path: Path, data: bytes, bytes_max: int) -> None:
    import os

    try:
        descriptor = open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            if os.fstat(descriptor).st_size + len(data) <= bytes_max:
                os.write(descriptor, data)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        complain("note", "%s cannot be written: %s", path, error)


def _member(event: bytes, name: str) -> str:
    try:
        return str(json.loads(event).get(name, ""))
    except (ValueError, AttributeError, RecursionError):
        return ""
