"""The examples of the documentation run as they are printed."""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import remembrancer
from fake_recorder import FakeRecorder, contexts
from remembrancer import Client

SDK = Path(__file__).parent.parent
RULE = "Never move a ledger without a written order."
Connect = Callable[..., Client]


def example(path: Path, number: int) -> str:
    found: list[str] = re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return found[number]


def run(code: str, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(remembrancer, "Client", functools.partial(connect))
    names: dict[str, Any] = {}
    exec(compile(code, "example", "exec"), names)
    return names


class Anthropic:
    """Stands in for the SDK: asks for a look at the shelf once, and then answers."""

    def __init__(self) -> None:
        self.messages = self
        self.sent: list[list[dict[str, Any]]] = []

    def create(self, *, messages: list[dict[str, Any]], **more: object) -> types.SimpleNamespace:
        self.sent.append(list(messages))
        usage = types.SimpleNamespace(input_tokens=10, output_tokens=2)
        block = {"type": "text", "text": "It is damp."}
        if len(messages) == 1:
            block = {"type": "tool_use", "id": "t1", "name": "look", "input": {"shelf": 7}}  # type: ignore[dict-item]
        content = types.SimpleNamespace(**block, model_dump=lambda: block)
        return types.SimpleNamespace(content=[content], usage=usage, model="claude-x")


def test_the_readme(connect: Connect, recorder: FakeRecorder, monkeypatch: pytest.MonkeyPatch) -> None:
    run(example(SDK / "README.md", 0), connect, monkeypatch)
    (session,) = {event["session"] for event in recorder.order}
    assert recorder.types(session) == [
        "session.started",
        "constraint.declared",
        "context.captured",
        "model.responded",
        "tool.called",
        "tool.returned",
        "session.ended",
    ]


def test_an_agents_own_loop(connect: Connect, recorder: FakeRecorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", types.SimpleNamespace(Anthropic=Anthropic))
    names = run(example(SDK / "../../docs/capture-sdk.md", 0), connect, monkeypatch)
    assert names["client"].flush()
    (session,) = {event["session"] for event in recorder.order}
    found = contexts(recorder.of(session), recorder.blobs)
    assert [kind for kind, _ in found[1]] == ["system", "tool_schema", "user"]
    assert found[2][2:] == [("user", "Sort shelf 7."), ("tool_call", 'look {"shelf": 7}'), ("tool_result", "shelf 7: damp")]
    assert RULE in found[2][0][1]
    called = [event["data"] for event in recorder.of(session) if event["type"] == "tool.called"]
    assert called == [{"turn": 1, "call_id": "t1", "tool": "look", "operation": "READ", "arguments": {"shelf": 7}}]


def test_pydantic_ai(connect: Connect, recorder: FakeRecorder, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.test import TestModel

    code = example(SDK / "../../docs/capture-sdk.md", 1).replace('"openai:gpt-5"', "model")
    monkeypatch.setattr(remembrancer, "Client", functools.partial(connect))
    names: dict[str, Any] = {"model": TestModel(custom_output_text="bought")}
    exec(compile(code, "example", "exec"), names)
    names["agent"].run_sync("buy paper")
    assert names["client"].flush()
    kinds = [event["type"] for event in recorder.order]
    assert kinds == ["session.started", "constraint.declared", "context.captured", "model.responded", "session.ended"]
