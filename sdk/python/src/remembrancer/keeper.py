"""The thread that moves what the agent handed over from memory into the spool."""

from __future__ import annotations

import threading
import time

from .complaint import complain
from .outbox import Outbox
from .settings import Limits, SpoolSync
from .spool import Spool

#: Time between two attempts to write to a spool that did not take what it was given.
_RETRY_SECONDS = 1.0
#: Pause after a write, in which more may come for the next one.
_GATHER_SECONDS = 0.003


class Keeper:
    """Writes to the spool, so that the agent does not wait for a disk."""

    def __init__(self, outbox: Outbox, spool: Spool, limits: Limits, sync: SpoolSync) -> None:
        self._outbox = outbox
        self._spool = spool
        self._limits = limits
        self._sync = sync
        self._synced = time.monotonic()
        self._is_dirty = False
        self.stop = threading.Event()

    def run(self) -> None:
        """Goes on until it is stopped."""
        while not self.stop.is_set():
            seen = self._outbox.version
            if not self._move():
                self._outbox.wait_change(seen, self._limits.sync_seconds if self._is_dirty else None)
            self._force()

    def _move(self) -> bool:
        frames = self._outbox.begin_move()
        if not frames:
            return False
        moved = 0
        try:
            moved = self._spool.append(frames)
            if moved < len(frames):
                complain("spool-full", "the spool %s is full; events wait in memory", self._spool.folder)
        except OSError as error:
            complain("spool", "the spool %s cannot be written: %s", self._spool.folder, error)
        except Exception as error:  # noqa: BLE001 - a fault here must not end the thread
            complain("keeper", "fault of the client while spooling: %r", error)
        finally:
            self._outbox.end_move(moved, is_open=moved == len(frames))
        self._is_dirty = self._is_dirty or moved > 0
        self.stop.wait(_RETRY_SECONDS if moved < len(frames) else _GATHER_SECONDS)
        return True

    def _force(self) -> None:
        """Forces to the disk what is due. What is answered for by then needs it no more."""
        if self._sync == "never" or not self._is_dirty:
            return
        now = time.monotonic()
        if self._sync == "interval" and now - self._synced < self._limits.sync_seconds:
            return
        self._synced = now
        self._is_dirty = False
        try:
            self._spool.sync()
        except OSError as error:
            complain("sync", "the spool %s cannot be forced to the disk: %s", self._spool.folder, error)
