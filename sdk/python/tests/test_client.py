from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from conftest import KEY, URL, quick
from fake_recorder import FakeRecorder, contexts, problem
from remembrancer import ActionPattern, Client, Limits, Part, Places, RequestedCall, Session, ToolDeclaration, Usage
from remembrancer.context import digest_of

Connect = Callable[..., Client]


def down(request: httpx.Request) -> httpx.Response | None:
    raise httpx.ConnectError("refused")


def record_run(session: Session, turns: int = 5) -> dict[int, list[tuple[str, str]]]:
    """A run with growing contexts, and what its contexts are."""
    session.intent("sort the shelves", targets=["archive"])
    session.constraint("limit", "prohibition", "never move a ledger")
    parts = [Part("system", "Never move a ledger."), Part("user", "sort")]
    expected: dict[int, list[tuple[str, str]]] = {}
    for number in range(1, turns + 1):
        turn = session.context(parts, tokens=number * 100, witness="exact")
        expected[turn] = [(part.kind, part.text or "") for part in parts]
        answer, result = f"answer {number}", f"result {number} " + "r" * 20_000
        session.response([answer], calls=[RequestedCall(f"c{number}", "read")], usage=Usage(10, 2))
        session.tool_called(f"c{number}", "read", {"shelf": number})
        session.tool_returned(f"c{number}", result, tool="read")
        parts = [*parts, Part("assistant", answer), Part("tool_result", result, call_id=f"c{number}")]
    session.end()
    return expected


def test_a_run_arrives_once_and_in_order(connect: Connect, recorder: FakeRecorder, tmp_path: Path) -> None:
    client = connect(agent="sorter")
    session = client.session("run", label="first", labels={"arm": "a"}, model="m")
    expected = record_run(session)
    assert client.flush()
    assert recorder.types("run")[:4] == ["session.started", "intent.declared", "constraint.declared", "context.captured"]
    assert recorder.types("run")[-1] == "session.ended"
    assert contexts(recorder.of("run"), recorder.blobs) == expected
    stats = client.stats()
    assert (stats.recorded, stats.offered) == (len(recorder.order), len(recorder.order))
    assert (stats.duplicate, stats.rejected, stats.dropped, stats.failed_calls) == (0, 0, 0, 0)
    assert (stats.memory_bytes, stats.spool_bytes) == (0, 0)
    started = recorder.order[0]
    assert started["agent"] == "sorter"
    assert started["data"] == {"label": "first", "labels": {"arm": "a"}, "model": "m"}
    # A context of growing size costs its new parts.
    last = [event["data"] for event in recorder.order if event["type"] == "context.captured"][-1]
    assert (last["base"], last["tokens"]) == (4, {"count": 500, "source": "measured"})
    assert [list(part) for part in last["parts"]] == [["kind", "hash"], ["kind", "hash", "call_id"]]
    client.close()
    assert list(tmp_path.rglob("*.spool")) == []


def test_nothing_is_lost_or_doubled_while_the_recorder_fails_in_every_way(connect: Connect, recorder: FakeRecorder) -> None:
    failures: list[Callable[[httpx.Request], httpx.Response | None]] = [
        down,
        lambda request: problem(503, "unavailable", {"retry-after": "0"}),
        lambda request: problem(429, "busy", {"retry-after": "0.01"}),
        lambda request: httpx.Response(502, text="<html>bad gateway</html>"),
        lambda request: httpx.Response(200, text="<html>welcome to our wireless network</html>"),
        lambda request: problem(408, "timeout"),
    ]
    asked = 0

    def before(request: httpx.Request) -> httpx.Response | None:
        nonlocal asked
        asked += 1
        return None if asked % 3 == 0 else failures[asked % len(failures)](request)

    recorder.before = before
    client = connect(limits=quick(batch_events_max=2))
    expected = record_run(client.session("run"))
    assert client.flush(20)
    assert contexts(recorder.of("run"), recorder.blobs) == expected
    assert client.stats().recorded == len(recorder.order) == 5 * 4 + 4
    assert client.stats().rejected == 0


def test_an_answer_that_never_came_makes_duplicates_and_no_second_events(connect: Connect, recorder: FakeRecorder) -> None:
    cut = {"times": 3}
    answer = recorder._answer

    def lose(request: httpx.Request) -> httpx.Response:
        response = answer(request)
        if request.url.path == "/v1/events" and cut["times"]:
            cut["times"] -= 1
            raise httpx.ReadError("connection reset")
        return response

    client = connect(http=httpx.MockTransport(lose))
    record_run(client.session("run"))
    assert client.flush()
    assert len(recorder.events) == len(recorder.order) == 24
    assert client.stats().duplicate > 0
    assert client.stats().recorded + client.stats().duplicate == 24


def test_retry_after_is_honoured(connect: Connect, recorder: FakeRecorder) -> None:
    times: list[float] = []

    def before(request: httpx.Request) -> httpx.Response | None:
        times.append(time.monotonic())
        return problem(503, "unavailable", {"retry-after": "1"}) if len(times) == 1 else None

    recorder.before = before
    client = connect()
    client.session("run")
    assert not client.flush(0.3)
    assert client.stats().trouble.startswith("503")
    assert client.flush(5)
    assert 1.0 <= times[1] - times[0] < 2.5


def test_a_wrong_key_keeps_everything_for_the_next_process(
    connect: Connect, recorder: FakeRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    recorder.before = lambda request: None if "right" in request.headers["authorization"] else problem(401, "unauthorized")
    with caplog.at_level(logging.WARNING, "remembrancer"):
        client = connect()
        record_run(client.session("run"))
        assert not client.flush(0.3)
        client.close(0.1)
    assert "does not take this key" in caplog.text
    assert KEY not in caplog.text
    assert recorder.order == []
    second = connect(key="rmb_write_default_k2_right")
    second.session("other")
    assert second.flush()
    assert len(recorder.of("run")) == 24
    assert second.stats().adopted == 24
    # What goes to one workspace is never sent to another.
    third = connect(key="rmb_write_elsewhere_k2_right")
    third.session("third")
    assert third.flush()
    assert third.stats().adopted == 0


def test_what_a_process_left_is_sent_before_what_the_next_one_records(connect: Connect, recorder: FakeRecorder) -> None:
    recorder.before = down
    first = connect()
    session = first.session("long")
    session.context([Part("user", "rule")])
    assert not first.close(0.2)
    recorder.before = lambda request: None
    second = connect()
    resumed = second.session("long", resume=True, turn=1)
    resumed.context([Part("user", "rule"), Part("user", "more")])
    resumed.end()
    assert second.flush()
    assert recorder.types("long") == ["session.started", "context.captured", "context.captured", "session.ended"]
    assert contexts(recorder.of("long"), recorder.blobs)[2] == [("user", "rule"), ("user", "more")]


def test_a_full_queue_is_a_gap_that_is_recorded(connect: Connect, recorder: FakeRecorder) -> None:
    recorder.before = down
    client = connect(limits=quick(memory_bytes_max=20_000, spool_bytes_max=1), spool_sync="never")
    session = client.session("run")
    for number in range(1, 41):
        session.context([Part("user", f"{number} " + "t" * 1000)])
    assert session.turn == 40
    assert client.stats().dropped > 10
    assert client.stats().memory_bytes <= 20_000
    recorder.before = lambda request: None
    session.end()
    assert client.flush()
    gaps = [event["data"] for event in recorder.of("run") if event["type"] == "custom.gap"]
    assert sum(gap["events"] for gap in gaps) == client.stats().dropped
    assert gaps[0]["reasons"] == ["memory and spool of the client were full"]
    # What followed the gap does not lean on what fell into it.
    assert recorder.types("run")[-2:] == ["custom.gap", "session.ended"]
    contexts(recorder.of("run"), recorder.blobs)


def test_a_gap_without_a_further_event_is_recorded_by_flush(connect: Connect, recorder: FakeRecorder) -> None:
    recorder.before = down
    client = connect(limits=quick(memory_bytes_max=2_000), use_spool=False)
    session = client.session("run")
    while client.stats().dropped == 0:
        session.custom("custom.note", {"text": "n" * 500})
    recorder.before = lambda request: None
    assert client.flush()
    client.flush()
    assert "custom.gap" in recorder.types("run")
    assert client._gapped == {}


def test_a_full_disk_delays_nothing_and_loses_nothing(
    connect: Connect, recorder: FakeRecorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "write", full)
    client = connect()
    with caplog.at_level(logging.WARNING, "remembrancer"):
        expected = record_run(client.session("run"))
        assert client.flush()
    monkeypatch.undo()
    assert contexts(recorder.of("run"), recorder.blobs) == expected
    assert "no space left on device" in caplog.text
    assert client.stats().dropped == 0


def test_a_disk_that_has_room_again_takes_what_waited(
    connect: Connect, recorder: FakeRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    recorder.before = down
    monkeypatch.setattr(os, "write", full)
    client = connect()
    expected = record_run(client.session("run"))
    time.sleep(0.2)
    assert client.stats().spool_bytes == 0
    monkeypatch.undo()
    time.sleep(1.3)
    assert client.stats().spool_bytes > 50_000
    recorder.before = lambda request: None
    assert client.flush()
    assert contexts(recorder.of("run"), recorder.blobs) == expected
    assert client.stats().recorded == len(recorder.order) == 24


def test_what_is_only_in_memory_at_the_end_is_spooled(connect: Connect, recorder: FakeRecorder, tmp_path: Path) -> None:
    recorder.before = down
    client = connect(limits=quick(spool_bytes_max=300))
    record_run(client.session("run"))
    client.close(0.1)
    assert client.stats().dropped > 0
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.spool")) <= 300


def test_a_rejected_event_is_kept_and_said(connect: Connect, recorder: FakeRecorder, tmp_path: Path) -> None:
    recorder.reject = lambda event: "invalid-event" if event["type"] == "custom.bad" else None
    client = connect()
    session = client.session("run")
    session.context([Part("user", "rule")])
    session.custom("custom.bad", {"secret": 1})
    assert client.flush()
    session.context([Part("user", "rule"), Part("user", "more")])
    assert client.flush()
    assert client.stats().rejected == 1
    (kept,) = [json.loads(line) for path in tmp_path.rglob("rejected.ndjson") for line in path.read_text().splitlines()]
    assert (kept["problem"], kept["event"]["data"]) == ("invalid-event", {"secret": 1})
    (gap,) = [event["data"] for event in recorder.of("run") if event["type"] == "custom.gap"]
    assert (gap["events"], gap["reasons"]) == (1, ["the recorder rejected it: invalid-event"])
    assert "base" not in recorder.order[-1]["data"]


def test_one_unfit_event_does_not_take_its_batch_along(connect: Connect, recorder: FakeRecorder) -> None:
    recorder.before = down
    client = connect()
    session = client.session("run")
    for number in range(20):
        session.custom("custom.note", {"number": number, "poison": number == 13})

    def before(request: httpx.Request) -> httpx.Response | None:
        return problem(400, "not-json") if b'"poison":true' in request.content else None

    recorder.before = before
    assert client.flush()
    numbers = [event["data"].get("number") for event in recorder.of("run") if event["type"] == "custom.note"]
    assert numbers == [number for number in range(20) if number != 13]
    assert client.stats().rejected == 1


def test_a_blob_that_was_collected_as_garbage_is_uploaded_again(connect: Connect, recorder: FakeRecorder) -> None:
    large = "z" * 50_000
    client = connect()
    client.session("one").context([Part("user", large)])
    assert client.flush()
    recorder.blobs.clear()
    client.session("two").context([Part("user", large)])
    assert client.flush()
    assert recorder.blobs == {digest_of(large): large.encode()}
    assert client.stats().rejected == 0


def test_blobs_that_the_recorder_has_are_not_uploaded(connect: Connect, recorder: FakeRecorder) -> None:
    large = "z" * 50_000
    recorder.blobs[digest_of(large)] = large.encode()
    client = connect()
    client.session("one").context([Part("user", large)])
    assert client.flush()
    assert [path for method, path in recorder.requests if method == "PUT"] == []


def test_nothing_raises_into_the_agent(connect: Connect, recorder: FakeRecorder, caplog: pytest.LogCaptureFixture) -> None:
    client = connect()
    session = client.session("any name / at all", labels={"n": 1})  # type: ignore[dict-item]
    assert session.custom("no custom type") is None
    assert session.response(7) is None  # type: ignore[arg-type]
    assert session.context([None]) == 1  # type: ignore[list-item]
    assert session.context(None) == 2  # type: ignore[arg-type]
    assert session.tool_called("c", "t", {"loop": session, "n": float("nan"), "s": "\udfff"}) is not None
    assert session.custom("custom.huge", {"text": "x" * 300_000}) is None
    assert client.stats().failed_calls == 5
    assert client.flush()
    assert client.stats().rejected == 0
    assert session.id.startswith("id-")
    session.end()
    assert session.intent("late") is None
    client.close()
    assert client.session("after").intent("nothing") is None


def test_a_client_that_is_set_up_wrongly_records_nothing() -> None:
    assert not Client(URL, KEY, spool=7).is_recording  # type: ignore[arg-type]
    assert not Client(URL, object()).is_recording  # type: ignore[arg-type]


def test_places_that_cannot_be_written_keep_nothing_from_being_sent(connect: Connect, recorder: FakeRecorder) -> None:
    recorder.receipt = "remembrancer receipt v1"
    for number, place in enumerate(("/proc/none", "/dev/null/x", "nul\0")):
        client = connect(spool=place, receipts=place)
        record_run(client.session(f"run-{number}"))
        assert client.flush()
        assert len(recorder.of(f"run-{number}")) == 24


@pytest.mark.parametrize(("url", "key"), [(None, None), (URL, None), ("not a url", KEY), ("ftp://x", KEY), (URL, "schlüssel")])
def test_without_address_or_key_nothing_happens(
    url: str | None, key: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(url, key, spool=tmp_path)
    assert not client.is_recording
    session = client.session("run")
    assert session.context([Part("user", "x")]) == 1
    assert session.end() is None
    assert client.flush()
    assert client.close()
    assert "nothing is recorded" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_the_environment_switches_recording_off(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMEMBRANCER_OFF", "1")
    assert not connect().is_recording


def test_recording_does_not_wait_for_the_network(connect: Connect, recorder: FakeRecorder) -> None:
    gate = threading.Event()

    def stand_still(request: httpx.Request) -> httpx.Response | None:
        gate.wait(10)
        return None

    recorder.before = stand_still
    client = connect()
    session = client.session("run")
    session.context([Part("user", "warm")])
    parts = [Part("user", f"{number} " + "t" * 2000) for number in range(200)]
    began = time.perf_counter()
    for number in range(200):
        session.context(parts[: number + 1])
        session.tool_called(f"c{number}", "t", {"n": number})
    taken = time.perf_counter() - began
    gate.set()
    # 400 events, generous: what waits for a network that does not answer takes seconds.
    assert taken < 2.0
    assert client.flush(10)
    assert len(recorder.of("run")) == 402


def test_many_threads_record_one_session(connect: Connect, recorder: FakeRecorder) -> None:
    client = connect()
    session = client.session("run")

    def work(name: int) -> None:
        for number in range(50):
            session.custom("custom.note", {"thread": name, "number": number})

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.flush()
    notes = [event["data"] for event in recorder.of("run") if event["type"] == "custom.note"]
    assert len(notes) == 400
    for name in range(8):
        assert [note["number"] for note in notes if note["thread"] == name] == list(range(50))


def test_asynchronous_code_records_without_being_held_up(connect: Connect, recorder: FakeRecorder) -> None:
    async def run() -> None:
        async with connect() as client:
            async with client.session("run") as session:
                session.context([Part("user", "x")])
            assert await client.aflush()

    asyncio.run(run())
    assert recorder.types("run") == ["session.started", "context.captured", "session.ended"]


def test_receipts_are_kept(connect: Connect, recorder: FakeRecorder, tmp_path: Path) -> None:
    recorder.receipt = "remembrancer receipt v1\nledger\n0 run 0 00\n\n— ledger AAAA\n"
    client = connect(receipts=tmp_path / "receipts")
    client.session("run")
    assert client.flush()
    assert (tmp_path / "receipts").read_text() == recorder.receipt + "\n"


def test_a_proxy_that_takes_little_gets_little(connect: Connect, recorder: FakeRecorder) -> None:
    """Something on the way answers in its own words."""
    recorder.before = lambda request: httpx.Response(413, text="<html>") if len(request.content) > 2_000 else None
    client = connect()
    session = client.session("run")
    for number in range(20):
        session.custom("custom.note", {"number": number, "text": "n" * 400})
    session.custom("custom.note", {"number": 20, "text": "n" * 4_000})
    assert client.flush()
    numbers = [event["data"]["number"] for event in recorder.of("run") if event["type"] == "custom.note"]
    assert numbers == list(range(20))
    assert client.stats().rejected == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_records_by_itself(tmp_path: Path) -> None:
    """The child's events go into a spool of its own, and the parent's are not touched."""
    client = Client(URL, KEY, spool=tmp_path, limits=quick(connect_seconds_max=0.2))
    session = client.session("run")
    session.context([Part("user", "parent")])
    child = os.fork()
    if child == 0:
        try:
            session.context([Part("user", "child")])
            client.close(0.3)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    client.close(0.3)
    recorder = FakeRecorder()
    reader = Client(URL, KEY, spool=tmp_path, limits=quick(), http=recorder.transport)
    reader.session("reader")
    assert reader.flush()
    reader.close()
    said = [event["data"]["parts"][0]["text"] for event in recorder.of("run") if event["type"] == "context.captured"]
    # Each is heard of, whichever process's spool is sent first.
    assert sorted(said) == ["child", "parent"]
    assert recorder.types("run").count("session.started") == 1
    assert reader.stats().rejected == 0


def test_limits_are_documented_defaults() -> None:
    limits = Limits()
    assert (limits.memory_bytes_max, limits.spool_bytes_max) == (16 * 1024 * 1024, 256 * 1024 * 1024)


def test_names_of_agents_are_made_to_fit(connect: Connect, recorder: FakeRecorder) -> None:
    client = connect()
    client.session("run", agent="a\nb\x7f" + "ü" * 200)
    client.session("other", agent=7)  # type: ignore[arg-type]
    assert client.flush()
    assert [event["agent"] for event in recorder.order] == ["ab" + "ü" * 127, "7"]


def test_every_record_can_say_how_it_became_known(connect: Connect, recorder: FakeRecorder) -> None:
    session = connect().session("run", witness="hook")
    session.intent("sort", witness="claimed")
    session.scope(
        tools=[ToolDeclaration("fetch", effects=["network"])],
        permitted=[ActionPattern(effects=["write", "delete"], paths=["src", "/tmp"])],
        places=Places(root="/srv/app", links={"/srv/app/out": "/mnt/out"}),
        witness="claimed",
    )
    session.constraint("limit", "prohibition", "never move a ledger", witness="claimed")
    session.decision("guard", verdict="deny", witness="telemetry")
    session.artifact("notes", "text", witness="transcript")
    session.report({"done": True}, witness="claimed")
    session.score("care", 1, witness="claimed")
    session.end(witness="exact")
    assert session._client.flush()
    said = [event["data"]["witness"] for event in recorder.of("run")]
    assert said == ["hook", "claimed", "claimed", "claimed", "telemetry", "transcript", "claimed", "claimed", "exact"]
    scope = recorder.of("run")[2]["data"]
    assert scope["permitted"] == [{"effects": ["write", "delete"], "paths": ["src", "/tmp"]}]
    assert scope["places"] == {"root": "/srv/app", "links": {"/srv/app/out": "/mnt/out"}}
    assert scope["tools"] == [{"tool": "fetch", "effects": ["network"]}]
