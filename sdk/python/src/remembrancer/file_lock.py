"""A lock on a file that ends with its process, however that ends."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import msvcrt

    # Far behind every spool's end, so that the lock keeps nobody from reading.
    _LOCKED_AT = 2**62

    def lock(descriptor: int) -> bool:
        """Takes the lock; false if another process has it."""
        import os

        os.lseek(descriptor, _LOCKED_AT, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock(descriptor: int) -> bool:
        """Takes the lock; false if another process has it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
