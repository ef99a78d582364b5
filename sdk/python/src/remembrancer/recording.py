"""How a session's events are written and handed over, and what is said of those that were lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from .context import ContextWriter
from .event import EVENT_BLOBS_MAX, EVENT_BYTES_MAX, agent_name, identifier, pack
from .frame import Frame
from .json_value import now
from .payloads import members

if TYPE_CHECKING:
    from .client import Client

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound="Recording")


def harmless(method: Callable[Concatenate[R, P], T]) -> Callable[Concatenate[R, P], T | None]:
    """A fault while something is recorded is counted and logged, and never reaches the agent."""

    @wraps(method)
    def recorded(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - nothing here may break the agent
            self._client._failed(method.__name__, error)
            return None

    return recorded


class Recording:
    """The events of one session, in order. Whoever writes one holds the lock until it is handed over."""

    def __init__(self, client: Client, id: str | None, *, agent: str | None, turn: int) -> None:
        self._client = client
        self.id = identifier(id or f"session-{client._next_id()}")
        self.agent = agent_name(agent)
        #: The number of the last model request.
        self.turn = turn
        self._writer = ContextWriter()
        self._lock = threading.Lock()
        self._gap: dict[str, Any] | None = None
        # The session's last event, where there was no room for it: it is sent with what is said of the gap.
        self._unsent_end: Frame | None = None
        # The session's first event. A forked process repeats it, since it may be heard of before its parent is.
        self._start_event: bytes | None = None
        self._repeats_start = False
        self._is_ended = False

    def _record(
        self,
        kind: str,
        data: Mapping[str, Any],
        *,
        raw: Mapping[str, Any] | None = None,
        blobs: Mapping[str, bytes] | None = None,
        said: Sequence[str] = (),
        is_start: bool = False,
        is_end: bool = False,
    ) -> str | None:
        if not self._client.is_recording or (self._is_ended and not is_end):
            return None
        payload = {**members(dict(data)), **(raw or {})}
        with self._lock:
            id = self._put(kind, payload, blobs or {}, is_start=is_start)
            if id is not None:
                for one in said:
                    self._writer.said(one)
            return id

    def _put(self, kind: str, data: Mapping[str, Any], blobs: Mapping[str, bytes], *, is_start: bool = False) -> str | None:
        """Hands an event over with its blobs before it, and with what is to be said of a gap before that."""
        frames = [Frame.blob(digest, content) for digest, content in blobs.items()]
        digests = list(blobs)
        while len(digests) > EVENT_BLOBS_MAX:
            some, digests = digests[:EVENT_BLOBS_MAX], digests[EVENT_BLOBS_MAX:]
            frames.append(Frame("event", self._pack("custom.blobs_introduced", {"count": len(some)}, some)[1]))
        id, body = self._pack(kind, data, digests)
        if len(body) > EVENT_BYTES_MAX:
            self._count_gap(f"an event of {len(body)} bytes is larger than one may be")
            raise ValueError(f"{kind} has {len(body)} bytes; at most {EVENT_BYTES_MAX} are allowed")
        frames.append(Frame("event", body))
        if is_start:
            self._start_event = body
            self._client._remember_start(self.id, body)
        elif self._repeats_start and self._start_event is not None:
            self._client._remember_start(self.id, self._start_event)
            frames.insert(0, Frame("event", self._start_event))
        gap = self._gap_frame()
        if gap is not None:
            frames.insert(int(self._repeats_start), gap)
        if self._client._offer(frames, sum(frame.kind == "event" for frame in frames)):
            if gap is not None:
                self._end_gap()
            self._repeats_start = False
            return id
        if kind == "session.ended":
            self._unsent_end = frames[-1]
            self._client._gapped[self.id] = self
        else:
            self._client._count_dropped()
            self._count_gap("memory and spool of the client were full")
        return None

    def _pack(self, kind: str, data: Mapping[str, Any], digests: Sequence[str]) -> tuple[str, bytes]:
        id = self._client._next_id()
        return id, pack(id, self.id, kind, self.agent, now(), digests, data)

    def _count_gap(self, reason: str) -> None:
        """One more event is missing. Nothing that was said before is taken for known any more: it may be what is missing."""
        self._writer.forget()
        at = now()
        if self._gap is None:
            self._gap = {"events": 0, "from": at, "reasons": []}
        self._gap["events"] += 1
        self._gap["to"] = at
        if reason not in self._gap["reasons"] and len(self._gap["reasons"]) < 10:
            self._gap["reasons"].append(reason)
        self._client._gapped[self.id] = self

    def _gap_frame(self) -> Frame | None:
        return None if self._gap is None else Frame("event", self._pack("custom.gap", self._gap, ())[1])

    def _end_gap(self) -> None:
        self._gap = None
        self._unsent_end = None
        self._client._gapped.pop(self.id, None)

    @harmless
    def _record_gap(self) -> None:
        """Says what is missing, where no later event did."""
        with self._lock:
            frames = [frame for frame in (self._gap_frame(), self._unsent_end) if frame is not None]
            if frames and self._client._offer(frames, len(frames)):
                self._end_gap()

    @harmless
    def _lost(self, reason: str) -> None:
        """The recorder did not take an event."""
        with self._lock:
            if not self._is_ended:
                self._count_gap(reason)

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        self._gap = self._unsent_end = None
        self._repeats_start = self._start_event is not None
        self._writer.forget()
