"""The thread that sends: first what ended processes left, then this one's spool, then what no spool took."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from .complaint import complain
from .delivery import Delivery
from .frame import Frame
from .outbox import Counts, Outbox
from .settings import Limits
from .spool import Spool
from .transport import TransportError

#: Time between two looks for spools of processes that have ended since.
_ADOPT_SECONDS = 60.0
#: Pause after a request that was not full.
_GATHER_SECONDS = 0.02
#: A batch that makes the client itself fail this often in a row is given up.
_FAULTS_MAX = 5


class Courier:
    """Sends batches, each until it is answered, and repeats with growing pauses."""

    def __init__(self, outbox: Outbox, spool: Spool | None, delivery: Delivery, limits: Limits, counts: Counts) -> None:
        self._outbox = outbox
        self._spool = spool
        self._delivery = delivery
        self._limits = limits
        self._counts = counts
        self._next_look = 0.0
        self._attempts = 0
        self._faults = 0
        self._failure = TransportError("later", "")
        self.stop = threading.Event()
        #: Set to have the next attempt made at once.
        self.nudge = threading.Event()

    def run(self) -> None:
        """Goes on until it is stopped."""
        while not self.stop.is_set():
            seen = self._outbox.version
            try:
                if self._send_adopted() or self._send_spooled() or self._send_held():
                    continue
            except Exception as error:  # noqa: BLE001 - a fault here must not end the thread
                complain("courier", "fault of the client while sending: %r", error)
                self.stop.wait(self._limits.retry_seconds_first)
            if not self.stop.is_set():
                self._outbox.wait_change(seen, _ADOPT_SECONDS)

    def _send_adopted(self) -> bool:
        spool = self._spool
        if spool is None or time.monotonic() < self._next_look:
            return False
        if not spool.adopt():
            self._next_look = time.monotonic() + _ADOPT_SECONDS
            return False
        taken = spool.read_adopted()
        if taken is not None and self._until_done(taken.frames):
            self._counts.unreadable_bytes += taken.lost_bytes
            self._counts.adopted += sum(frame.kind == "event" for frame in taken.frames)
            spool.settle_adopted(taken)
        return True

    def _send_spooled(self) -> bool:
        taken = self._spool.read() if self._spool else None
        if self._spool is None or taken is None:
            return False
        if self._until_done(taken.frames):
            self._spool.settle(taken)
            self._counts.unreadable_bytes += taken.lost_bytes
            self._outbox.settle(len(taken.frames))
            if not taken.is_full:
                # What comes in the meantime goes into one request, which costs the agent's process less than several.
                self.nudge.wait(_GATHER_SECONDS)
        return True

    def _send_held(self) -> bool:
        held = self._outbox.hold()
        if not held:
            return False
        # What went into the spool in the meantime is older.
        while self._send_spooled() and not self.stop.is_set():
            pass
        is_done = False
        try:
            is_done = self._attempt(held)
        finally:
            if is_done:
                self._outbox.settle(len(held), held=True)
            else:
                self._outbox.put_back()
        if not is_done:
            self._pause()
        return True

    def _until_done(self, frames: list[Frame]) -> bool:
        """Sends a batch until it is answered. False: the end came first, and it is still to be sent."""
        while not self.stop.is_set():
            if self._attempt(frames):
                return True
            self._pause()
        return False

    def _attempt(self, frames: list[Frame]) -> bool:
        """Sends a batch once. False: it is to be sent again."""
        self.nudge.clear()
        try:
            self._delivery.send(frames)
        except TransportError as error:
            self._failure = error
            self._counts.trouble = str(error)
            complain(error.kind, "events wait for the recorder: %s", error)
            return False
        except Exception as error:  # noqa: BLE001 - whatever a batch does, the next ones are to be sent
            self._faults += 1
            self._failure = TransportError("later", repr(error))
            self._counts.trouble = repr(error)
            complain("delivery", "fault of the client while sending: %r", error)
            if self._faults < _FAULTS_MAX:
                return False
            self._counts.rejected += sum(frame.kind == "event" for frame in frames)
        else:
            self._counts.trouble = ""
        self._attempts = self._faults = 0
        return True

    def _pause(self) -> None:
        error = self._failure
        self._attempts += 1
        if error.retry_after is not None:
            # As long as the recorder asks for, and a little longer, so that not all of its clients come back at once.
            asked = min(error.retry_after, self._limits.retry_after_seconds_max)
            self.stop.wait(asked + random.uniform(0, max(0.1, asked / 10)))
            return
        self.stop.wait(self._limits.retry_seconds_first / 2)
        if not self.stop.is_set():
            # Whoever stops also nudges, so that one wait is enough.
            self.nudge.wait(pause_seconds(self._limits, error.kind, self._attempts - 1))


def pause_seconds(limits: Limits, kind: str, attempt: int, draw: Callable[[float, float], float] = random.uniform) -> float:
    """The pause before a request is repeated: anything up to a bound that doubles. A wrong key does not mend itself soon."""
    if kind == "refused_here":
        return draw(limits.retry_seconds_max / 2, limits.retry_seconds_max)
    bound = min(limits.retry_seconds_max, limits.retry_seconds_first * 2.0 ** min(attempt, 30))
    return draw(0, bound)
