from __future__ import annotations

from collections.abc import Callable

import pytest

from fake_recorder import FakeRecorder, problem
from remembrancer import Client
from remembrancer import __main__ as check

Connect = Callable[..., Client]


def test_the_check_says_whether_the_recorder_took_it(
    connect: Connect, recorder: FakeRecorder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check.main(connect()) == 0
    assert "recorded: session" in capsys.readouterr().out
    assert [event["type"] for event in recorder.order] == ["session.started", "session.ended"]
    monkeypatch.setattr(check, "_SECONDS", 0.3)
    recorder.before = lambda request: problem(401, "unauthorized")
    assert check.main(connect()) == 1
    assert "not recorded: the recorder does not take this key" in capsys.readouterr().out
    assert check.main(Client(None, None)) == 2
