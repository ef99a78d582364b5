"""The spool of a process: what it recorded and the server has not answered for, in files that outlive it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from blake3 import blake3

from .frame import HEADER, Frame
from .private import make_folder
from .settings import Limits
from .spool_file import SUFFIX, SpoolFile, Taken

_FILES_MAX = 10_000


def destination_folder(spool: Path, url: str, workspace: str) -> Path:
    """The folder of what goes to one workspace of one server: nothing is ever sent to another one."""
    digest = blake3(f"{url}\n{workspace}".encode()).hexdigest()
    return spool / digest[:16]


class Spool:
    """Files that this process writes, the oldest first, and those that it took over from processes that have ended."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder = folder
        self._limits = limits
        self._own: deque[SpoolFile] = deque()
        self._adopted: SpoolFile | None = None
        self._others_bytes = 0
        # Held during input and output; only the two threads of the client wait for it, never the agent.
        self._lock = threading.Lock()

    @staticmethod
    def open(folder: Path, limits: Limits, destination: str) -> Spool:
        """Makes the folder where it is missing. Raises `OSError` where that is not possible."""
        make_folder(folder)
        note = folder / "destination.txt"
        if not note.exists():
            note.write_text(destination + "\n", encoding="utf-8")
        spool = Spool(folder, limits)
        spool._others_bytes = spool._bytes_of_others()
        return spool

    def append(self, frames: Sequence[Frame]) -> int:
        """Writes as many frames as there is room for, and returns how many. Raises `OSError` if none can be written."""
        written = 0
        with self._lock:
            while written < len(frames):
                room = self._limits.spool_bytes_max - self._others_bytes - sum(file.end for file in self._own)
                if not self._own or self._own[-1].sealed or self._is_full(self._own[-1]):
                    if frames[written].size + len(HEADER) > room:
                        break
                    self._own.append(SpoolFile.create(self.folder))
                    continue
                file = self._own[-1]
                some: list[Frame] = []
                size = 0
                for frame in frames[written:]:
                    if size + frame.size > room or (some and file.end + size > self._limits.spool_file_bytes_max):
                        break
                    some.append(frame)
                    size += frame.size
                if not some:
                    break
                try:
                    file.append(some)
                except OSError:
                    if written:
                        break
                    raise
                written += len(some)
        return written

    def sync(self) -> None:
        """Forces what is unsettled to the disk."""
        with self._lock:
            for file in self._own:
                if file.unsettled_bytes:
                    file.sync()

    def read(self) -> Taken | None:
        """The oldest frames of this process that are not settled; none if all are."""
        with self._lock:
            for file in self._own:
                if file.unsettled_bytes:
                    return file.read(self._limits.batch_events_max, self._limits.batch_bytes_max)
        return None

    def settle(self, taken: Taken) -> None:
        """Notes that frames which :meth:`read` gave are dealt with; files that hold no others go."""
        with self._lock:
            file = next((file for file in self._own if file.unsettled_bytes), None)
            if file is None:
                return
            file.settle(taken.until)
            while len(self._own) > 1 and not self._own[0].unsettled_bytes:
                self._own.popleft().remove()
            if not self._own[0].unsettled_bytes:
                self._own[0].clear()

    def adopt(self) -> bool:
        """Takes over a file that another process left; false if there is none."""
        with self._lock:
            if self._adopted is not None:
                return True
            for path in self._files():
                if all(path != file.path for file in self._own):
                    self._adopted = SpoolFile.adopt(path)
                    if self._adopted is not None:
                        return True
            self._others_bytes = self._bytes_of_others()
            return False

    def read_adopted(self) -> Taken | None:
        """The next frames of the file that was taken over; none when it is done, and gone."""
        with self._lock:
            file = self._adopted
            if file is None:
                return None
            if not file.unsettled_bytes:
                file.remove()
                self._adopted = None
                self._others_bytes = self._bytes_of_others()
                return None
            return file.read(self._limits.batch_events_max, self._limits.batch_bytes_max)

    def settle_adopted(self, taken: Taken) -> None:
        """Notes that frames which :meth:`read_adopted` gave are dealt with."""
        with self._lock:
            if self._adopted is not None:
                self._adopted.settle(taken.until)

    @property
    def unsettled_bytes(self) -> int:
        """Bytes of this process that are not settled."""
        with self._lock:
            return sum(file.unsettled_bytes for file in self._own)

    def close(self) -> None:
        """Lets go of all files; those without anything unsettled go."""
        with self._lock:
            for file in self._own:
                if file.unsettled_bytes:
                    file.close()
                else:
                    file.remove()
            self._own.clear()
            if self._adopted is not None:
                self._adopted.close()
                self._adopted = None

    def abandon(self) -> None:
        """Closes the files without touching them: after a fork they are the parent's."""
        for file in [*self._own, *([self._adopted] if self._adopted else [])]:
            file.close()

    def _is_full(self, file: SpoolFile) -> bool:
        return file.end >= self._limits.spool_file_bytes_max

    def _files(self) -> list[Path]:
        try:
            found = sorted(path for path in self.folder.iterdir() if path.suffix == SUFFIX)
        except OSError:
            return []
        return found[:_FILES_MAX]

    def _bytes_of_others(self) -> int:
        own = {file.path for file in self._own}
        total = 0
        for path in self._files():
            try:
                total += 0 if path in own else path.stat().st_size
            except OSError:
                continue
        return total
