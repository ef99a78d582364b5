"""Files and folders that only their owner can read: they hold what agents said.

What is there already with wider rights is narrowed when it is used. Where the system refuses that, it is used as it is.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .complaint import complain

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
#: Rights of everybody but the owner.
_OTHERS = 0o077


def make_folder(folder: Path) -> None:
    """Makes a folder where it is missing. Raises `OSError` where that is not possible."""
    folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    # One that many users share, such as /tmp, stays as it is.
    if not folder.stat().st_mode & stat.S_ISVTX:
        _narrow(folder, _FOLDER_MODE)


def open_file(path: Path, flags: int) -> int:
    """Opens a file, and makes it private from its first moment where opening makes it. Raises `OSError`."""
    descriptor = os.open(path, flags, _FILE_MODE)
    _narrow(path, _FILE_MODE)
    return descriptor


def _narrow(path: Path, mode: int) -> None:
    # On Windows these bits say nothing of who can read.
    if os.name != "posix":
        return
    try:
        if path.stat().st_mode & _OTHERS:
            path.chmod(mode)
            complain("rights", "others could read %s; now its owner alone can", path)
    except OSError as error:
        complain("rights", "others can read %s, and its rights cannot be changed: %s", path, error)
