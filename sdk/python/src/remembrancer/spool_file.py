"""One spool file: frames appended by one process, read by it or, after its end, by the next."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .file_lock import lock
from .frame import HEAD_BYTES, HEADER, Frame, Head
from .private import open_file

SUFFIX = ".spool"
_READ_BYTES = 256 * 1024


@dataclass
class Taken:
    """Frames that were read, and where reading goes on once they are settled."""

    frames: list[Frame] = field(default_factory=list)
    until: int = 0
    #: Bytes that could not be read: the end of a write that was cut off, or damage.
    lost_bytes: int = 0
    #: There was more than a request may hold.
    is_full: bool = False


class SpoolFile:
    """An open spool file. Whoever holds one holds its lock."""

    def __init__(self, path: Path, descriptor: int, end: int) -> None:
        self.path = path
        self.end = end
        self.settled = len(HEADER)
        #: No longer written to, because a failed write could not be undone.
        self.sealed = False
        self._descriptor = descriptor

    @staticmethod
    def create(folder: Path) -> SpoolFile:
        """Begins a file. It gets its name when it is locked, so that nobody takes it for one that was left."""
        name = f"{time.time_ns() // 1_000_000:013d}-{os.getpid()}-{secrets.token_hex(4)}"
        unfinished = folder / f"{name}.new"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = open_file(unfinished, flags)
        try:
            lock(descriptor)
            _write_all(descriptor, HEADER, 0)
            path = folder / f"{name}{SUFFIX}"
            os.rename(unfinished, path)
        except OSError:
            os.close(descriptor)
            unfinished.unlink(missing_ok=True)
            raise
        return SpoolFile(path, descriptor, len(HEADER))

    @staticmethod
    def adopt(path: Path) -> SpoolFile | None:
        """Takes over a file whose process has ended; none if it has not, or if another process was faster."""
        try:
            descriptor = open_file(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        except OSError:
            return None
        try:
            if lock(descriptor) and _is_still(path, descriptor):
                end = os.fstat(descriptor).st_size
                if _read_at(descriptor, 0, len(HEADER)) == HEADER:
                    return SpoolFile(path, descriptor, end)
                if end < len(HEADER):
                    path.unlink(missing_ok=True)
        except OSError:
            pass
        os.close(descriptor)
        return None

    @property
    def unsettled_bytes(self) -> int:
        """Bytes of frames that are not settled."""
        return self.end - self.settled

    def append(self, frames: Sequence[Frame]) -> None:
        """Writes frames; if that fails, as if nothing had been written."""
        data = b"".join(frame.pack() for frame in frames)
        try:
            _write_all(self._descriptor, data, self.end)
        except OSError:
            try:
                os.ftruncate(self._descriptor, self.end)
            except OSError:
                self.sealed = True
            raise
        self.end += len(data)

    def sync(self) -> None:
        """Forces what was written to the disk."""
        os.fsync(self._descriptor)

    def read(self, events_max: int, bytes_max: int) -> Taken:
        """Reads frames from the first unsettled one on: at least one, if there is any."""
        taken = Taken(until=self.settled)
        events = size = 0
        while taken.until < self.end and events < events_max and size < bytes_max:
            chunk = self._chunk(taken.until, HEAD_BYTES)
            if not chunk:
                # Somebody cut the file.
                taken.lost_bytes += self.end - taken.until
                taken.until = self.end
                return taken
            at = 0
            while events < events_max and size < bytes_max and at < len(chunk):
                head = Head.unpack(chunk[at : at + HEAD_BYTES])
                if head is None and len(chunk) - at < HEAD_BYTES and taken.until + (len(chunk) - at) < self.end:
                    break
                whole = HEAD_BYTES + head.body_bytes if head else 0
                if head is None or taken.until + whole > self.end:
                    # Nothing says where the next frame would begin.
                    taken.lost_bytes += self.end - taken.until
                    taken.until = self.end
                    return taken
                if at + whole > len(chunk):
                    if at:
                        break
                    chunk = self._chunk(taken.until, whole)
                frame = head.frame(chunk[at + HEAD_BYTES : at + whole])
                if frame is None:
                    taken.lost_bytes += whole
                else:
                    taken.frames.append(frame)
                    events += frame.kind == "event"
                    size += len(frame.body)
                at += whole
                taken.until += whole
        taken.is_full = events >= events_max or size >= bytes_max
        return taken

    def settle(self, until: int) -> None:
        """Notes that everything before a place is dealt with."""
        self.settled = until

    def clear(self) -> None:
        """Empties a file whose frames are all settled. Where that fails, it is not written to any more."""
        try:
            os.ftruncate(self._descriptor, len(HEADER))
        except OSError:
            self.sealed = True
            return
        self.end = self.settled = len(HEADER)
        self.sealed = False

    def remove(self) -> None:
        """Deletes the file."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Lets go of the file, and of its lock unless a forked process still has it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _chunk(self, at: int, least: int) -> bytes:
        return _read_at(self._descriptor, at, min(self.end - at, max(least, _READ_BYTES)))


def _is_still(path: Path, descriptor: int) -> bool:
    there, opened = os.stat(path), os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino)


def _write_all(descriptor: int, data: bytes, at: int) -> None:
    os.lseek(descriptor, at, os.SEEK_SET)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _read_at(descriptor: int, at: int, length: int) -> bytes:
    os.lseek(descriptor, at, os.SEEK_SET)
    parts: list[bytes] = []
    while length > 0:
        part = os.read(descriptor, length)
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
