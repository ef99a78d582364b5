from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from remembrancer.frame import HEADER, Frame
from remembrancer.settings import Limits
from remembrancer.spool import Spool
from remembrancer.spool_file import SpoolFile


def event(number: int, size: int = 10) -> Frame:
    return Frame("event", f"{number}:".encode() + b"x" * size)


def left_behind(folder: Path, frames: list[Frame], tail: bytes = b"") -> Path:
    """A file whose process has ended."""
    file = SpoolFile.create(folder)
    file.append(frames)
    file.close()
    with file.path.open("ab") as end:
        end.write(tail)
    return file.path


def test_frames_come_back_in_order_and_settled_ones_go(tmp_path: Path) -> None:
    limits = Limits(spool_file_bytes_max=400, batch_events_max=7)
    spool = Spool.open(tmp_path, limits, "here")
    frames = [event(number, number) for number in range(40)] + [Frame.blob("a" * 64, b"blob")]
    assert spool.append(frames) == 41
    assert len(list(tmp_path.glob("*.spool"))) > 2
    found: list[Frame] = []
    while (taken := spool.read()) is not None:
        assert 0 < len(taken.frames) <= 8
        found.extend(taken.frames)
        spool.settle(taken)
    assert found == frames
    assert (found[-1].digest, found[-1].content) == ("a" * 64, b"blob")
    assert [path.stat().st_size for path in tmp_path.glob("*.spool")] == [len(HEADER)]
    spool.close()
    assert list(tmp_path.glob("*.spool")) == []


def test_files_and_folder_are_the_users_own(tmp_path: Path) -> None:
    spool = Spool.open(tmp_path / "deep" / "spool", Limits(), "here")
    spool.append([event(1)])
    assert (tmp_path / "deep" / "spool").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "deep" / "spool").glob("*.spool")} == {0o600}
    spool.close()


def test_what_others_could_read_is_the_users_own_once_it_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    folder.mkdir(mode=0o755)
    left = left_behind(folder, [event(1)])
    left.chmod(0o644)
    folder.chmod(0o755)
    spool = Spool.open(folder, Limits(), "here")
    assert spool.adopt()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert left.stat().st_mode & 0o777 == 0o600
    spool.close()
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    Spool.open(shared, Limits(), "here").close()
    assert shared.stat().st_mode & 0o7777 == 0o1777


def test_what_a_live_process_writes_is_left_alone_and_what_an_ended_one_left_is_taken(tmp_path: Path) -> None:
    mine, other = Spool.open(tmp_path, Limits(), "here"), Spool.open(tmp_path, Limits(), "here")
    other.append([event(1), event(2)])
    assert not mine.adopt()
    other.close()
    assert mine.adopt()
    taken = mine.read_adopted()
    assert taken is not None
    assert taken.frames == [event(1), event(2)]
    third = Spool.open(tmp_path, Limits(), "here")
    assert not third.adopt()
    mine.settle_adopted(taken)
    assert mine.read_adopted() is None
    assert list(tmp_path.glob("*.spool")) == []
    mine.close()


@pytest.mark.parametrize("tail", [b"\x05", event(3).pack()[:-1], event(3).pack()[:9], b"\xff" * 50])
def test_a_torn_end_costs_what_is_torn_alone(tmp_path: Path, tail: bytes) -> None:
    left_behind(tmp_path, [event(1), event(2)], tail)
    spool = Spool.open(tmp_path, Limits(), "here")
    assert spool.adopt()
    taken = spool.read_adopted()
    assert taken is not None
    assert (taken.frames, taken.lost_bytes) == ([event(1), event(2)], len(tail))
    spool.settle_adopted(taken)
    assert spool.read_adopted() is None


def test_a_damaged_frame_is_passed_over(tmp_path: Path) -> None:
    path = left_behind(tmp_path, [event(1), event(2), event(3)])
    data = bytearray(path.read_bytes())
    data[len(HEADER) + event(1).size + 12] ^= 1
    path.write_bytes(data)
    spool = Spool.open(tmp_path, Limits(), "here")
    spool.adopt()
    taken = spool.read_adopted()
    assert taken is not None
    assert (taken.frames, taken.lost_bytes) == ([event(1), event(3)], event(2).size)


def test_a_file_of_another_format_is_left_alone(tmp_path: Path) -> None:
    strange = tmp_path / "1.spool"
    strange.write_bytes(b"remembrancer spool 2\nsomething else")
    assert not Spool.open(tmp_path, Limits(), "here").adopt()
    assert strange.exists()


def test_a_large_blob_is_read_whole(tmp_path: Path) -> None:
    spool = Spool.open(tmp_path, Limits(), "here")
    frames = [event(1), Frame.blob("b" * 64, os.urandom(3_000_000)), event(2)]
    spool.append(frames)
    found: list[Frame] = []
    while (taken := spool.read()) is not None:
        found.extend(taken.frames)
        spool.settle(taken)
    assert found == frames
    spool.close()


def test_the_limit_holds_for_what_others_left_too(tmp_path: Path) -> None:
    left_behind(tmp_path, [event(number, 1000) for number in range(5)])
    spool = Spool.open(tmp_path, Limits(spool_bytes_max=8_000), "here")
    assert spool.append([event(number, 1000) for number in range(10)]) == 2
    assert spool.append([event(11)]) == 1
    spool.adopt()
    while (taken := spool.read_adopted()) is not None:
        spool.settle_adopted(taken)
    assert spool.append([event(number, 1000) for number in range(10)]) == 5
    spool.close()


def test_a_full_disk_leaves_whole_frames_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool.open(tmp_path, Limits(), "here")
    spool.append([event(1)])
    write = os.write
    room = 20

    def full(descriptor: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            raise OSError(errno.ENOSPC, "no space left on device")
        written = write(descriptor, bytes(data)[:room])
        room -= written
        return written

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="no space"):
        spool.append([event(2, 100)])
    monkeypatch.undo()
    assert spool.append([event(3)]) == 1
    taken = spool.read()
    assert taken is not None
    assert (taken.frames, taken.lost_bytes) == ([event(1), event(3)], 0)
    spool.close()
