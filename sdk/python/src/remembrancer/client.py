"""The client: where events go, and the sessions that are recorded through it."""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import secrets
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

import httpx

from .complaint import complain, logger
from .frame import Frame
from .outbox import Counts
from .payloads import Witness
from .recording import Recording
from .runtime import Destination, Runtime
from .session import Session
from .settings import Limits, SpoolSync, default_spool
from .transport import Result

_KEY = re.compile(r"^[!-~]+$")
_OFF = ("1", "true", "yes", "on")


class Client:
    """Records sessions in a Remembrancer ledger.

    Nothing that is called here raises into the agent or waits for a disk or a network, but for :meth:`flush` and :meth:`close`,
    which wait as long as they are told. Without an address and a key nothing is recorded, and that is logged once.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        agent: str | None = None,
        spool: str | os.PathLike[str] | None = None,
        spool_sync: SpoolSync = "interval",
        use_spool: bool = True,
        receipts: str | os.PathLike[str] | None = None,
        limits: Limits | None = None,
        http: httpx.BaseTransport | None = None,
    ) -> None:
        """Takes what is not given from the environment: `REMEMBRANCER_URL`, `REMEMBRANCER_KEY`, `REMEMBRANCER_SPOOL`.

        `REMEMBRANCER_OFF=1` switches recording off. `receipts` names a file that the recorder's signed receipts are kept in.
        `http` replaces the way to the network, for tests.
        """
        self.limits = limits or Limits()
        self.agent = agent
        self._nonce = secrets.token_hex(6)
        self._numbers = 0
        self._lock = threading.Lock()
        self._runtime: Runtime | None = None
        self._is_closed = False
        self._sessions: weakref.WeakValueDictionary[str, Session] = weakref.WeakValueDictionary()
        # Sessions that lost something and have not recorded it; kept until they have.
        self._gapped: dict[str, Recording] = {}
        self._failed_calls = 0
        self._dropped = 0
        self._destination = self._find(url, key, spool if use_spool else None, use_spool, spool_sync, receipts, http)
        _clients.add(self)
        atexit.register(self._at_exit)

    @property
    def is_recording(self) -> bool:
        """Whether there is somewhere to record to."""
        return self._destination is not None and not self._is_closed

    def session(
        self,
        id: str | None = None,
        *,
        label: str | None = None,
        labels: Mapping[str, str] | None = None,
        model: str | None = None,
        agent: str | None = None,
        agent_version: str | None = None,
        parent: Session | str | None = None,
        parent_call_id: str | None = None,
        witness: Witness | None = None,
        compaction_trigger_tokens: int | None = None,
        resume: bool = False,
        turn: int = 0,
    ) -> Session:
        """Begins a session, or goes on with one that was begun before (`resume`, with the last `turn` that it had)."""
        session = Session(self, id, agent=agent or self.agent, turn=turn)
        self._sessions[session.id] = session
        if not resume:
            said = {
                "label": label,
                "labels": labels,
                "model": model,
                "agent_version": agent_version,
                "witness": witness,
                "compaction_trigger_tokens": compaction_trigger_tokens,
            }
            is_begun = session._start(said, parent.id if isinstance(parent, Session) else parent, parent_call_id)
            if is_begun is None:
                # Without its first event nothing of a session is taken.
                session._start({}, None, None)
        return session

    def flush(self, seconds: float = 5.0) -> bool:
        """Waits until the recorder has answered for everything recorded so far. False: it has not within this time."""
        try:
            until = time.monotonic() + seconds
            self._record_gaps()
            runtime = self._runtime
            is_sent = runtime.flush(seconds) if runtime is not None else True
            if is_sent and runtime is not None and self._gapped:
                # Now there is room for what there was none for before.
                self._record_gaps()
                is_sent = runtime.flush(max(0.0, until - time.monotonic()))
            return is_sent
        except Exception as error:  # noqa: BLE001 - nothing here may break the agent
            self._failed("flush", error)
            return False

    async def aflush(self, seconds: float = 5.0) -> bool:
        """:meth:`flush` for asynchronous code."""
        return await asyncio.to_thread(self.flush, seconds)

    def close(self, seconds: float | None = None) -> bool:
        """Sends what can be sent within a time, and leaves the rest in the spool for the next process. Ends the client."""
        if self._is_closed:
            return True
        is_sent = False
        try:
            seconds = self.limits.exit_seconds_max if seconds is None else seconds
            until = time.monotonic() + seconds
            if self._gapped:
                self.flush(seconds)
            self._is_closed = True
            atexit.unregister(self._at_exit)
            runtime = self._runtime
            is_sent = runtime.close(max(0.0, until - time.monotonic())) if runtime else True
        except Exception as error:  # noqa: BLE001 - nothing here may break the agent
            self._failed("close", error)
        return is_sent

    async def aclose(self, seconds: float | None = None) -> bool:
        """:meth:`close` for asynchronous code."""
        return await asyncio.to_thread(self.close, seconds)

    def stats(self) -> Counts:
        """What became of everything that was recorded."""
        runtime = self._runtime
        counts = runtime.stats() if runtime is not None else Counts()
        counts.failed_calls += self._failed_calls
        counts.dropped += self._dropped
        return counts

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    def _find(
        self,
        url: str | None,
        key: str | None,
        spool: str | os.PathLike[str] | None,
        use_spool: bool,
        sync: SpoolSync,
        receipts: str | os.PathLike[str] | None,
        http: httpx.BaseTransport | None,
    ) -> Destination | None:
        if os.environ.get("REMEMBRANCER_OFF", "").lower() in _OFF:
            return None
        try:
            url = str(url or os.environ.get("REMEMBRANCER_URL") or "").rstrip("/")
            key = str(key or os.environ.get("REMEMBRANCER_KEY") or "").strip()
            parts = urlsplit(url)
            folder = (Path(spool) if spool is not None else default_spool()) if use_spool else None
            file = None if receipts is None else Path(receipts)
        except Exception as error:  # noqa: BLE001 - nothing here may break the agent
            logger.warning("nothing is recorded: %s", error)
            return None
        if parts.scheme not in ("http", "https") or not parts.hostname or not _KEY.match(key):
            logger.warning("nothing is recorded: REMEMBRANCER_URL (http://…) and REMEMBRANCER_KEY are not both set")
            return None
        return Destination(url, key, folder, sync, file, self.limits, http)

    def _record_gaps(self) -> None:
        for session in list(self._gapped.values()):
            session._record_gap()

    def _next_id(self) -> str:
        with self._lock:
            self._numbers += 1
            return f"{self._nonce}-{self._numbers}"

    def _count_dropped(self) -> None:
        with self._lock:
            self._dropped += 1

    def _offer(self, frames: Sequence[Frame], events: int) -> bool:
        runtime = self._runtime
        if runtime is None:
            runtime = self._begin()
        return runtime is not None and runtime.offer(frames, events)

    def _begin(self) -> Runtime | None:
        with self._lock:
            if self._runtime is None and self._destination is not None and not self._is_closed:
                runtime = Runtime(self._destination, self._rejected)
                runtime.start()
                self._runtime = runtime
            return self._runtime

    def _remember_start(self, session: str, event: bytes) -> None:
        runtime = self._runtime or self._begin()
        if runtime is not None:
            runtime.delivery.remember_start(session, event)

    def _rejected(self, session: str, kind: str, result: Result) -> None:
        live = self._sessions.get(session)
        if live is not None and kind != "custom.gap":
            live._lost(f"the recorder rejected it: {result.problem or result.status}")

    def _failed(self, what: str, error: Exception) -> None:
        with self._lock:
            self._failed_calls += 1
        complain(f"failed-{what}", "%s could not be recorded: %s: %s", what, type(error).__name__, error)

    def _at_exit(self) -> None:
        self.close()

    def _after_fork(self) -> None:
        """In a forked process: threads and locks are the parent's, and what it has recorded it sends itself."""
        self._lock = threading.Lock()
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            runtime.abandon()
        self._nonce = secrets.token_hex(6)
        self._gapped = {}
        for session in list(self._sessions.values()):
            session._after_fork()


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_clients):
        client._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
