from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fake_recorder import FakeRecorder
from remembrancer import Client, Limits, complaint

KEY = "rmb_write_default_k1_00"
URL = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REMEMBRANCER_URL", "REMEMBRANCER_KEY", "REMEMBRANCER_SPOOL", "REMEMBRANCER_OFF"):
        monkeypatch.delenv(name, raising=False)
    complaint._said.clear()


@pytest.fixture
def recorder() -> FakeRecorder:
    return FakeRecorder()


def quick(**changes: Any) -> Limits:
    return Limits(**{"retry_seconds_first": 0.02, "retry_seconds_max": 0.1, "exit_seconds_max": 2.0, **changes})


@pytest.fixture
def connect(recorder: FakeRecorder, tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Makes clients of the fake recorder, which are closed at the end."""
    made: list[Client] = []

    def client(**changes: Any) -> Client:
        given = {"spool": tmp_path / "spool", "limits": quick(), "http": recorder.transport, **changes}
        one = Client(given.pop("url", URL), given.pop("key", KEY), **given)
        made.append(one)
        return one

    yield client
    for one in made:
        one.close(0)
