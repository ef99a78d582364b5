"""The client's two threads and what they share. Made at the first event, and anew in a forked process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from .complaint import complain, logger
from .courier import Courier
from .delivery import Delivery
from .frame import Frame
from .keeper import Keeper
from .outbox import Counts, Outbox
from .settings import Limits, SpoolSync
from .spool import Spool, destination_folder
from .transport import Result, Transport

#: Time that the threads get to end, beyond the time that sending may take.
_JOIN_SECONDS = 0.5


@dataclass(frozen=True)
class Destination:
    """Where events go, and how."""

    url: str
    key: str
    spool: Path | None
    sync: SpoolSync
    receipts: Path | None
    limits: Limits
    http: httpx.BaseTransport | None

    @property
    def workspace(self) -> str:
        """The workspace that the key names. A key of four fields is one of the default workspace."""
        fields = self.key.split("_")
        return fields[2] if len(fields) == 5 else "default"


class Runtime:
    """The queue, and the threads that empty it."""

    def __init__(self, destination: Destination, on_rejected: Callable[[str, str, Result], None]) -> None:
        self._destination = destination
        limits = destination.limits
        self.counts = Counts()
        self.outbox = Outbox(limits)
        # Until the spool is open, nothing is sent from memory: what ended processes left goes first.
        self.outbox.spool_is_open = destination.spool is not None
        self._transport = Transport(destination.url, destination.key, limits, destination.http)
        notes = destination.spool and destination_folder(destination.spool, destination.url, destination.workspace)
        self.delivery = Delivery(self._transport, self.counts, notes, destination.receipts, on_rejected)
        self._spool: Spool | None = None
        self._keeper: Keeper | None = None
        self._courier: Courier | None = None
        self._is_stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._threads_lock = threading.Lock()

    def start(self) -> None:
        """Starts the threads. The first one opens the spool, so that the agent does not wait for that."""
        self._spawn("remembrancer-keeper", self._keep)

    def offer(self, frames: Sequence[Frame], events: int) -> bool:
        """Hands frames over: all of them or none."""
        return self.outbox.offer(frames, events)

    def flush(self, seconds: float) -> bool:
        """Waits until everything that was offered before is answered for, not longer than a time."""
        if self._courier is not None:
            self._courier.nudge.set()
        return self.outbox.wait_settled(seconds)

    def stats(self) -> Counts:
        """The counts at this moment."""
        spooled = self._spool.unsettled_bytes if self._spool is not None else 0
        outbox = self.outbox
        return replace(self.counts, offered=outbox.events, memory_bytes=outbox.memory_bytes, spool_bytes=spooled)

    def close(self, seconds: float) -> bool:
        """Sends what can be sent in a time, and leaves the rest in the spool."""
        until = time.monotonic() + seconds
        is_sent = self.flush(seconds)
        self._is_stopping.set()
        for worker in (self._keeper, self._courier):
            if worker is not None:
                worker.stop.set()
        if self._courier is not None:
            self._courier.nudge.set()
        self.outbox.wake()
        join_until = max(until, time.monotonic() + _JOIN_SECONDS)
        with self._threads_lock:
            threads = list(self._threads)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, min(_JOIN_SECONDS, join_until - time.monotonic())))
        self._save_rest()
        if not any(thread.is_alive() for thread in threads):
            self._transport.close()
        return is_sent

    def abandon(self) -> None:
        """Lets go of what a forked process shares with its parent."""
        if self._spool is not None:
            self._spool.abandon()

    def _keep(self) -> None:
        destination = self._destination
        spool = None
        if destination.spool is not None:
            folder = destination_folder(destination.spool, destination.url, destination.workspace)
            try:
                spool = Spool.open(folder, destination.limits, f"{destination.url} {destination.workspace}")
            except (OSError, ValueError) as error:
                complain("spool", "no spool can be kept in %s: %s", folder, error)
                self.outbox.end_move(0, is_open=False)
        self._spool = spool
        self._courier = Courier(self.outbox, spool, self.delivery, destination.limits, self.counts)
        if self._is_stopping.is_set():
            return
        self._spawn("remembrancer-courier", self._courier.run)
        if spool is not None:
            self._keeper = Keeper(self.outbox, spool, destination.limits, destination.sync)
            if not self._is_stopping.is_set():
                self._keeper.run()

    def _save_rest(self) -> None:
        """What is only in memory goes into the spool, or is lost with the process: then that is said."""
        rest = self.outbox.remaining()
        saved = 0
        if self._spool is not None:
            try:
                saved = self._spool.append(rest)
                self._spool.sync()
            except OSError as error:
                complain("spool", "the spool %s cannot be written at the end: %s", self._spool.folder, error)
            self._spool.close()
        lost = sum(frame.kind == "event" for frame in rest[saved:])
        if lost:
            self.counts.dropped += lost
            logger.error("%d events were neither sent nor spooled when the client was closed", lost)

    def _spawn(self, name: str, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, name=name, daemon=True)
        with self._threads_lock:
            self._threads.append(thread)
        thread.start()
