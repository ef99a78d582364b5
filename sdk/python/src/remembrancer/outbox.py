"""Between the agent and the two threads of the client: what waits, how much of it, and what is settled."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from .frame import Frame
from .settings import Limits


@dataclass
class Counts:
    """What became of what was recorded. Numbers are of events, unless they say otherwise."""

    #: Handed over by the agent.
    offered: int = 0
    #: Stored by the recorder.
    recorded: int = 0
    #: Stored by the recorder before; a repeated request.
    duplicate: int = 0
    #: Not taken by the recorder; kept in `rejected.ndjson` of the spool folder.
    rejected: int = 0
    #: Not kept, since memory and spool were full. Each session records how many as `custom.gap`.
    dropped: int = 0
    #: Sent for processes that have ended.
    adopted: int = 0
    #: Bytes of spools that could not be read.
    unreadable_bytes: int = 0
    #: Calls of the client that failed by its own fault, or by values that it could not write.
    failed_calls: int = 0
    #: Bytes that wait in memory.
    memory_bytes: int = 0
    #: Bytes that wait in the spool.
    spool_bytes: int = 0
    #: Why the last request failed; empty after one that did not.
    trouble: str = ""


@dataclass
class Outbox:
    """A bounded queue in memory. The agent only ever appends to it; it never waits here for a disk or a network."""

    limits: Limits
    #: Whether the spool takes frames. While it does not, they are sent from memory.
    spool_is_open: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)
    _waiting: deque[Frame] = field(default_factory=deque)
    _waiting_bytes: int = 0
    _held: list[Frame] = field(default_factory=list)
    _held_bytes: int = 0
    #: Grows with every change, so that a thread can tell whether it missed one.
    version: int = 0
    #: Events that were let in.
    events: int = 0
    _offered: int = 0
    _settled: int = 0
    #: A thread is moving frames from the head of the queue into the spool.
    _is_moving: bool = False

    def offer(self, frames: Sequence[Frame], events: int) -> bool:
        """Appends frames, all or none, that hold so many events. False: there is no room."""
        size = sum(frame.size for frame in frames)
        with self.changed:
            taken = self._waiting_bytes + self._held_bytes
            # What is larger than the whole memory is let in alone.
            if taken and taken + size > self.limits.memory_bytes_max:
                return False
            self._waiting.extend(frames)
            self._waiting_bytes += size
            self._offered += len(frames)
            self.events += events
            self._tell()
        return True

    def begin_move(self) -> list[Frame]:
        """Frames to be written to the spool. They stay here until :meth:`end_move`."""
        with self.changed:
            some: list[Frame] = []
            size = 0
            for frame in self._waiting:
                if some and size + frame.size > self.limits.batch_bytes_max:
                    break
                some.append(frame)
                size += frame.size
            self._is_moving = bool(some)
            return some

    def end_move(self, moved: int, *, is_open: bool) -> None:
        """The first frames are in the spool now."""
        with self.changed:
            for _ in range(moved):
                self._waiting_bytes -= self._waiting.popleft().size
            self._is_moving = False
            self.spool_is_open = is_open
            self._tell()

    def hold(self) -> list[Frame]:
        """Takes frames to be sent from memory, where the spool does not take them. They count until :meth:`settle`."""
        with self.changed:
            if self.spool_is_open or self._is_moving:
                return []
            some: list[Frame] = []
            size = events = 0
            while self._waiting and size < self.limits.batch_bytes_max and events < self.limits.batch_events_max:
                frame = self._waiting.popleft()
                some.append(frame)
                size += frame.size
                events += 1
            self._waiting_bytes -= size
            self._held = some
            self._held_bytes = size
            return some

    def settle(self, count: int, *, held: bool = False) -> None:
        """Frames of this process are dealt with: those held, or others."""
        with self.changed:
            self._settled += count
            if held:
                self._held = []
                self._held_bytes = 0
            self._tell()

    def put_back(self) -> None:
        """What was held could not be sent: it is the first that the spool may take."""
        with self.changed:
            self._waiting.extendleft(reversed(self._held))
            self._waiting_bytes += self._held_bytes
            self._held = []
            self._held_bytes = 0
            self._tell()

    def remaining(self) -> list[Frame]:
        """What is in memory and nowhere else."""
        with self.changed:
            return [*self._held, *self._waiting]

    def wait_change(self, seen: int, seconds: float | None) -> None:
        """Waits until something changes after the version that was seen."""
        with self.changed:
            if self.version == seen:
                self.changed.wait(seconds)

    def wake(self) -> None:
        """Wakes whoever waits here."""
        with self.changed:
            self._tell()

    def _tell(self) -> None:
        self.version += 1
        self.changed.notify_all()

    @property
    def waiting(self) -> int:
        """Frames in memory that nobody has taken."""
        return len(self._waiting)

    @property
    def memory_bytes(self) -> int:
        """Bytes in memory."""
        return self._waiting_bytes + self._held_bytes

    @property
    def unsettled(self) -> int:
        """Frames that were offered and are not dealt with."""
        return self._offered - self._settled

    def wait_settled(self, seconds: float) -> bool:
        """Waits until everything that was offered before is dealt with."""
        until = time.monotonic() + seconds
        with self.changed:
            aim = self._offered
            while self._settled < aim:
                left = until - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    return self._settled >= aim
        return True
