"""How much the client may keep, send and wait."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MIB = 1024 * 1024

#: When what is spooled is forced to the disk. Without it, it survives the end of the process, but not of the machine.
SpoolSync = Literal["each", "interval", "never"]


@dataclass(frozen=True)
class Limits:
    """Every bound of a client. All sizes are in bytes, all times in seconds."""

    #: Most that waits in memory for the spool, or for the server where there is no spool.
    memory_bytes_max: int = 16 * MIB
    #: Most that lies in the spool folder, what other processes left included.
    spool_bytes_max: int = 256 * MIB
    #: Size at which a new spool file is begun.
    spool_file_bytes_max: int = 8 * MIB
    #: Most events in one request.
    batch_events_max: int = 500
    #: Size at which a request is full.
    batch_bytes_max: int = MIB
    #: Longest a connection may take to be made.
    connect_seconds_max: float = 5.0
    #: Longest the server may take to answer.
    answer_seconds_max: float = 30.0
    #: Upper bound of the first wait before a request is repeated; it doubles with each further one.
    retry_seconds_first: float = 0.25
    #: Upper bound of every such wait.
    retry_seconds_max: float = 30.0
    #: Longest wait that the server may ask for with ``Retry-After``.
    retry_after_seconds_max: float = 300.0
    #: Longest that the end of the program may wait for what is unsent.
    exit_seconds_max: float = 5.0
    #: Time between two forced writes where ``spool_sync`` is ``interval``.
    sync_seconds: float = 1.0


def default_spool() -> Path:
    """Where spools lie unless ``REMEMBRANCER_SPOOL`` or the client says otherwise."""
    named = os.environ.get("REMEMBRANCER_SPOOL")
    if named:
        return Path(named)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "remembrancer" / "spool"
