from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from fake_recorder import FakeRecorder, contexts

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.test import TestModel

from remembrancer import Client, Session
from remembrancer.pydantic_ai import RecordedModel, Recorder
from remembrancer.pydantic_ai_parts import parts_of_request

Connect = Callable[..., Client]


def answers(seen: list[list[ModelMessage]], *responses: ModelResponse) -> FunctionModel:
    """A model that says what it is told to, and keeps what it was sent."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(list(messages))
        return responses[min(len(seen), len(responses)) - 1]

    return FunctionModel(respond)


def call(tool: str, id: str, **arguments: object) -> ToolCallPart:
    return ToolCallPart(tool, dict(arguments), tool_call_id=id)


def said(seen: list[ModelMessage]) -> list[str]:
    return [str(getattr(part, "content", "")) for message in seen for part in message.parts]


def test_a_run_is_a_session_whose_contexts_are_what_the_model_got(connect: Connect, recorder: FakeRecorder) -> None:
    client = connect()
    seen: list[list[ModelMessage]] = []
    model = answers(
        seen,
        ModelResponse([TextPart("I look."), call("read", "c1", shelf=7), call("read", "c2", shelf=8)]),
        ModelResponse([TextPart("done")]),
    )

    def declare(session: Session) -> None:
        session.constraint("limit", "prohibition", "Never move a ledger.")

    agent = Agent(model, name="sorter", instructions="Never move a ledger.", capabilities=[Recorder(client, declare=declare)])

    @agent.tool_plain
    def read(shelf: int) -> str:
        return f"shelf {shelf}: damp"

    assert agent.run_sync("sort").output == "done"
    assert client.flush()
    (name,) = {event["session"] for event in recorder.order}
    events = recorder.of(name)
    assert events[0]["data"]["label"] == "sorter"
    assert events[0]["data"]["witness"] == "exact"
    assert recorder.types(name) == [
        "session.started",
        "constraint.declared",
        "context.captured",
        "model.responded",
        "tool.called",
        "tool.called",
        "tool.returned",
        "tool.returned",
        "context.captured",
        "model.responded",
        "session.ended",
    ]
    schema = '{"name":"read","description":null,"parameters":{"additionalProperties":false,"properties":{"shelf":'
    found = contexts(events, recorder.blobs)
    assert found[1][0][1].startswith(schema)
    assert found[1][1:] == [("system", "Never move a ledger."), ("user", "sort")]
    assert found[2][1:] == [
        ("system", "Never move a ledger."),
        ("user", "sort"),
        ("assistant", "I look."),
        ("tool_call", 'read {"shelf":7}'),
        ("tool_call", 'read {"shelf":8}'),
        ("tool_result", "shelf 7: damp"),
        ("tool_result", "shelf 8: damp"),
    ]
    assert found[2][2][1] in said(seen[1])
    captured = [event["data"] for event in events if event["type"] == "context.captured"]
    assert (captured[1]["base"], captured[1]["witness"]) == (1, "exact")
    called = [event["data"] for event in events if event["type"] == "tool.called"]
    assert [(one["turn"], one["call_id"], one["arguments"]) for one in called] == [
        (1, "c1", {"shelf": 7}),
        (1, "c2", {"shelf": 8}),
    ]
    returned = [event["data"] for event in events if event["type"] == "tool.returned"]
    assert sorted((one["call_id"], one["result"], one["status"]) for one in returned) == [
        ("c1", "shelf 7: damp", "ok"),
        ("c2", "shelf 8: damp", "ok"),
    ]


def test_a_history_processor_is_seen_through(connect: Connect, recorder: FakeRecorder) -> None:
    """What an agent-level trace hides: the rule is gone from what is sent, and the record says so."""
    client = connect()
    seen: list[list[ModelMessage]] = []

    def compact(messages: list[ModelMessage]) -> list[ModelMessage]:
        if len(messages) < 3:
            return messages
        return [ModelRequest([UserPromptPart("Summary: we sort shelves.")]), *messages[1:]]

    model = answers(seen, ModelResponse([call("read", "c1", shelf=7)]), ModelResponse([TextPart("done")]))
    agent = Agent(model, capabilities=[ProcessHistory(compact), Recorder(client)])

    @agent.tool_plain
    def read(shelf: int) -> str:
        return "damp"

    agent.run_sync("Budget limit is 100 EUR.")
    assert client.flush()
    found = contexts(recorder.order, recorder.blobs)
    assert ("user", "Budget limit is 100 EUR.") in found[1]
    assert [text for _, text in found[2][1:]] == ["Summary: we sort shelves.", 'read {"shelf":7}', "damp"]
    assert "base" not in [event["data"] for event in recorder.order if event["type"] == "context.captured"][1]


def test_a_streamed_run_is_recorded_as_it_ends(connect: Connect, recorder: FakeRecorder) -> None:
    client = connect()

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if len(messages) == 1:
            yield {0: DeltaToolCall(name="read", json_args='{"shelf":', tool_call_id="c1")}
            yield {0: DeltaToolCall(json_args="7}")}
        else:
            for word in ("all ", "is ", "sorted"):
                yield word

    agent = Agent(FunctionModel(stream_function=stream), capabilities=[Recorder(client)])

    @agent.tool_plain
    async def read(shelf: int) -> str:
        return "damp"

    async def run() -> list[str]:
        async with agent.run_stream("sort") as result:
            return [chunk async for chunk in result.stream_text(delta=True, debounce_by=None)]

    assert "".join(asyncio.run(run())) == "all is sorted"
    assert client.flush()
    answered = [event["data"] for event in recorder.order if event["type"] == "model.responded"]
    assert [(one["turn"], one.get("text"), one.get("calls")) for one in answered] == [
        (1, None, [{"call_id": "c1", "tool": "read"}]),
        (2, ["all is sorted"], None),
    ]
    (called,) = [event["data"] for event in recorder.order if event["type"] == "tool.called"]
    assert called["arguments"] == {"shelf": 7}
    assert contexts(recorder.order, recorder.blobs)[2][-1] == ("tool_result", "damp")
    assert recorder.order[-1]["data"] == {"outcome": "completed"}


def test_a_run_that_a_tool_starts_is_a_child_session(connect: Connect, recorder: FakeRecorder) -> None:
    client = connect()
    helper = Agent(answers([], ModelResponse([TextPart("it is damp")])), name="helper", capabilities=[Recorder(client)])
    outer = Agent(
        answers([], ModelResponse([call("ask", "c9", question="how is it?")]), ModelResponse([TextPart("done")])),
        name="outer",
        capabilities=[Recorder(client)],
    )

    @outer.tool
    async def ask(ctx: RunContext[Any], question: str) -> str:
        return (await helper.run(question)).output

    outer.run_sync("go")
    assert client.flush()
    started = {event["agent"]: event for event in recorder.order if event["type"] == "session.started"}
    parent = started["outer"]["session"]
    assert started["helper"]["data"]["parent"] == {"session": parent, "call_id": "c9"}
    assert "parent" not in started["outer"]["data"]
    assert recorder.types(started["helper"]["session"])[-1] == "session.ended"
    assert contexts(recorder.of(parent), recorder.blobs)[2][-1] == ("tool_result", "it is damp")


def test_errors_reach_the_agent_and_the_record(connect: Connect, recorder: FakeRecorder) -> None:
    client = connect()
    agent = Agent(answers([], ModelResponse([call("read", "c1", shelf=7)])), capabilities=[Recorder(client)])

    @agent.tool_plain(retries=1)
    def read(shelf: int) -> str:
        raise ModelRetry("name another shelf")

    with pytest.raises(Exception, match="read"):
        agent.run_sync("sort")
    assert client.flush()
    returned = [event["data"] for event in recorder.order if event["type"] == "tool.returned"]
    assert returned[0]["status"] == "error"
    assert "name another shelf" in returned[0]["result"]["message"]
    assert recorder.order[-1]["type"] == "session.ended"
    assert recorder.order[-1]["data"]["outcome"] == "error"
    assert "name another shelf" in contexts(recorder.order, recorder.blobs)[2][-1][1]


def test_calls_that_no_tool_carries_out_are_answered_too(connect: Connect, recorder: FakeRecorder) -> None:
    """Arguments that are no good, a provider's own tool, and an answer in the form of a call."""
    client = connect()

    class Shelf(BaseModel):
        number: int

    model = answers(
        [],
        ModelResponse(
            [
                NativeToolCallPart("web_search", {"query": "damp"}, tool_call_id="n1"),
                NativeToolReturnPart("web_search", "a page", tool_call_id="n1"),
                call("read", "c1", shelf="no number"),
            ]
        ),
        ModelResponse([call("final_result", "f1", number=7)]),
    )
    agent = Agent(model, output_type=Shelf, capabilities=[Recorder(client)])

    @agent.tool_plain
    def read(shelf: int) -> str:
        return "damp"

    assert agent.run_sync("sort").output == Shelf(number=7)
    assert client.flush()
    told = [
        (event["type"], event["data"]["call_id"], event["data"].get("status"))
        for event in recorder.order
        if event["type"].startswith("tool.")
    ]
    assert told == [
        ("tool.called", "n1", None),
        ("tool.called", "c1", None),
        ("tool.returned", "n1", "ok"),
        ("tool.returned", "c1", "error"),
    ]
    answered = [event["data"] for event in recorder.order if event["type"] == "model.responded"]
    assert answered[1]["calls"] == [{"call_id": "f1", "tool": "final_result"}]


def test_several_runs_can_go_into_one_session(connect: Connect, recorder: FakeRecorder) -> None:
    client = connect()
    with client.session("talk") as session:
        agent = Agent(TestModel(custom_output_text="yes"), capabilities=[Recorder(client, session=session)])
        first = agent.run_sync("one")
        agent.run_sync("two", message_history=first.all_messages())
    assert client.flush()
    assert recorder.types("talk").count("session.started") == 1
    found = contexts(recorder.of("talk"), recorder.blobs)
    assert found == {
        1: [("user", "one")],
        2: [("user", "one"), ("assistant", "yes"), ("user", "two")],
    }


def test_a_recorded_model_alone_records_into_the_current_session(connect: Connect, recorder: FakeRecorder) -> None:
    client = connect()
    agent = Agent(RecordedModel(TestModel(custom_output_text="yes")))
    agent.run_sync("unrecorded")
    with client.session("run"):
        agent.run_sync("recorded")
    assert client.flush()
    assert contexts(recorder.order, recorder.blobs) == {1: [("user", "recorded")]}


def test_a_recorder_that_is_down_changes_nothing_for_the_agent(connect: Connect, recorder: FakeRecorder) -> None:
    def broken(session: Session) -> None:
        raise RuntimeError("a declaration that fails")

    client = connect()
    agent = Agent(TestModel(custom_output_text="yes"), capabilities=[Recorder(client, declare=broken)])
    assert agent.run_sync("go").output == "yes"
    assert client.stats().failed_calls == 1
    silent = Client(None, None)
    assert Agent(TestModel(custom_output_text="yes"), capabilities=[Recorder(silent)]).run_sync("go").output == "yes"


def test_what_is_no_text_is_named_and_what_is_sealed_is_said() -> None:
    from pydantic_ai.models import ModelRequestParameters

    history: list[ModelMessage] = [
        ModelRequest([UserPromptPart(["look", BinaryContent(b"\x89PNG", media_type="image/png")])], instructions="Old."),
        ModelResponse([ThinkingPart("hm"), ThinkingPart("", signature="zzz", provider_name="openai")]),
        ModelRequest([CompactionPart("we sorted")], instructions="New."),
        ModelResponse([CompactionPart(None, provider_name="openai", provider_details={"encrypted_content": "x"})]),
    ]
    parts = parts_of_request(history, ModelRequestParameters())
    assert [(part.kind, part.text, part.encrypted, part.withheld) for part in parts] == [
        ("system", "New.", False, None),
        ("user", "look", False, None),
        ("other", None, False, "content of type image/png"),
        ("reasoning", "hm", False, None),
        ("reasoning", None, True, None),
        ("summary", "we sorted", False, None),
        ("summary", None, True, None),
    ]
