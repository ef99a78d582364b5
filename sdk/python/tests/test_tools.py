from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from fake_recorder import FakeRecorder
from remembrancer import Client, Part, current_session, parts_of_messages, recorded_tool, tool_call
from remembrancer.context import digest_of


@recorded_tool
def add(left: int, right: int = 2) -> int:
    return left + right


@recorded_tool(name="fetch", target="archive", operation="READ", effect="none")
async def fetch(shelf: str) -> str:
    await asyncio.sleep(0)
    if shelf == "none":
        raise LookupError("no such shelf")
    return f"shelf {shelf}"


def test_a_recorded_tool_is_an_action_with_its_result(connect: Callable[..., Client], recorder: FakeRecorder) -> None:
    assert add(1) == 3
    client = connect()
    with client.session("run") as session:
        assert current_session() is session
        session.context([Part("user", "add")])
        assert add(1) == 3
        with tool_call("c7"):
            assert asyncio.run(fetch("a")) == "shelf a"
        with pytest.raises(LookupError):
            asyncio.run(fetch(shelf="none"))
    assert current_session() is None
    assert client.flush()
    events = [event["data"] for event in recorder.of("run") if event["type"].startswith("tool.")]
    assert [(one.get("tool"), one.get("arguments"), one.get("status"), one.get("result")) for one in events] == [
        ("add", {"left": 1, "right": 2}, None, None),
        ("add", None, "ok", 3),
        ("fetch", {"shelf": "a"}, None, None),
        ("fetch", None, "ok", "shelf a"),
        ("fetch", {"shelf": "none"}, None, None),
        ("fetch", None, "error", {"error": "LookupError", "message": "no such shelf"}),
    ]
    assert [one["call_id"] for one in events[2:4]] == ["c7", "c7"]
    assert events[0]["turn"] == 1
    assert (events[2]["target"], events[2]["operation"], events[3]["effect"]) == ("archive", "READ", "none")


def test_an_error_ends_the_session_as_one(connect: Callable[..., Client], recorder: FakeRecorder) -> None:
    client = connect()
    with pytest.raises(ZeroDivisionError), client.session("run"):
        _ = 1 / 0
    assert client.flush()
    assert recorder.of("run")[-1]["data"] == {"outcome": "error", "reason": "ZeroDivisionError"}


def test_a_child_session_names_its_parent_and_the_call(connect: Callable[..., Client], recorder: FakeRecorder) -> None:
    client = connect()
    with client.session("parent") as session, tool_call("c1"), session.child("child", label="helper"):
        pass
    assert client.flush()
    assert recorder.of("child")[0]["data"] == {"label": "helper", "parent": {"session": "parent", "call_id": "c1"}}


def test_parts_of_openai_messages() -> None:
    parts = parts_of_messages(
        [
            {"role": "system", "content": "Never."},
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "function": {"name": "read", "arguments": '{"a":1}'}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "damp"},
        ],
        tools=[{"type": "function", "function": {"name": "read"}}],
    )
    assert [(part.kind, part.text, part.message, part.call_id, part.tool) for part in parts] == [
        ("tool_schema", '{"type": "function", "function": {"name": "read"}}', None, None, "read"),
        ("system", "Never.", 0, None, None),
        ("user", "look", 1, None, None),
        ("other", None, 1, None, None),
        ("tool_call", 'read {"a":1}', 2, "c1", "read"),
        ("tool_result", "damp", 3, "c1", None),
    ]
    assert parts[3].withheld == "content of type image_url"


def test_parts_of_anthropic_messages() -> None:
    parts = parts_of_messages(
        [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "redacted_thinking", "data": "xyz"},
                    {"type": "tool_use", "id": "t1", "name": "read", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "damp"}]}],
            },
        ],
        system=[{"type": "text", "text": "Never."}],
    )
    assert [(part.kind, part.text, part.call_id) for part in parts] == [
        ("system", "Never.", None),
        ("user", "go", None),
        ("reasoning", "hm", None),
        ("reasoning", None, None),
        ("tool_call", 'read {"a": 1}', "t1"),
        ("tool_result", "damp", "t1"),
    ]
    assert (parts[3].hash, parts[3].encrypted) == (digest_of("xyz"), True)


def test_the_sdks_own_objects_are_read_and_strange_ones_do_no_harm() -> None:
    class Model:
        def __init__(self, **members: object) -> None:
            self.members = members

        def model_dump(self, **how: object) -> dict[str, object]:
            return self.members

    parts = parts_of_messages(
        [
            Model(
                role="assistant", content=[Model(type="text", text="hm")], tool_calls=[Model(id="c1", function={"name": "read"})]
            ),
            7,
            {"role": "user", "content": 8},
            {"role": "user", "content": [None, {"type": "text"}]},
        ],
        system=9,
        tools=[Model(name="read"), object],
    )
    assert [(part.kind, part.text) for part in parts] == [
        ("other", "9"),
        ("tool_schema", '{"name": "read"}'),
        ("other", "\"<class 'object'>\""),
        ("assistant", "hm"),
        ("tool_call", "read "),
        ("other", "7"),
        ("other", '{"role": "user", "content": 8}'),
        ("other", '{"role": "user", "content": [null, {"type": "text"}]}'),
    ]
