from __future__ import annotations

import json

from remembrancer import Part
from remembrancer.context import INLINE_PART_BYTES_MAX, Captured, ContextWriter, digest_of
from remembrancer.json_value import encode


def turn(writer: ContextWriter, number: int, *texts: str) -> Captured:
    return writer.write(number, [Part("user", text) for text in texts], {})


def test_a_context_says_what_is_new_and_every_text_once() -> None:
    writer = ContextWriter()
    large = "x" * (INLINE_PART_BYTES_MAX + 1)
    first = turn(writer, 1, "rule", "task")
    assert first.data == {"turn": 1, "parts": [{"kind": "user", "text": "rule"}, {"kind": "user", "text": "task"}]}
    grown = turn(writer, 2, "rule", "task", large)
    assert grown.data == {"turn": 2, "base": 1, "parts": [{"kind": "user", "hash": digest_of(large)}]}
    assert grown.blobs == {digest_of(large): large.encode()}
    shrunk = turn(writer, 3, "rule", "sum")
    assert "base" not in shrunk.data
    assert shrunk.data["parts"] == [{"kind": "user", "hash": digest_of("rule")}, {"kind": "user", "text": "sum"}]
    again = turn(writer, 4, "rule", large)
    assert again.blobs == {}


def test_what_was_said_elsewhere_is_not_sent_again_and_what_was_lost_is() -> None:
    writer = ContextWriter()
    writer.said("answer")
    assert turn(writer, 1, "answer").data["parts"] == [{"kind": "user", "hash": digest_of("answer")}]
    writer.forget()
    after = turn(writer, 2, "answer", "more").data
    assert "base" not in after
    assert [part["text"] for part in after["parts"]] == ["answer", "more"]


def test_a_base_is_an_earlier_turn() -> None:
    writer = ContextWriter()
    turn(writer, 2, "rule")
    assert "base" not in turn(writer, 2, "rule", "more").data


def test_parts_that_differ_in_more_than_their_text_are_no_growth() -> None:
    writer = ContextWriter()
    writer.write(1, [Part("user", "rule")], {})
    assert "base" not in writer.write(2, [Part("summary", "rule"), Part("user", "more")], {}).data


def test_a_list_too_long_for_an_event_goes_as_a_blob() -> None:
    writer = ContextWriter()
    parts = [Part("user", f"{number}" + "y" * 400) for number in range(3000)]
    captured = writer.write(1, parts, {})
    assert captured.data["parts"] == []
    listed = json.loads(captured.blobs[captured.data["parts_blob"]])
    assert len(listed) == 3000
    inline = [part for part in listed if "text" in part]
    assert len(inline) + len(captured.blobs) == 3001
    assert sum(len(part["text"]) for part in inline) <= 96 * 1024


def test_control_characters_do_not_make_an_event_too_large() -> None:
    captured = ContextWriter().write(1, [Part("user", f"{number}" + "\x01" * 10_000) for number in range(20)], {})
    assert len(encode(captured.data)) < 200 * 1024
    assert len(captured.blobs) > 10


def test_what_cannot_be_kept_or_read_has_its_hash_alone() -> None:
    writer = ContextWriter()
    digest = digest_of("secret")
    sealed = Part("summary", hash=digest, encrypted=True)
    withheld = Part("user", hash=digest, withheld="a name")
    huge = Part("user", "z" * (32 * 1024 * 1024 + 1))
    captured = writer.write(1, [sealed, withheld, huge, Part("other")], {})
    assert captured.data["parts"][:2] == [
        {"kind": "summary", "hash": digest, "encrypted": True},
        {"kind": "user", "hash": digest, "withheld": "a name"},
    ]
    assert captured.data["parts"][2]["withheld"].startswith("33554433 bytes")
    assert captured.data["parts"][3] == {"kind": "other", "text": ""}
    assert captured.blobs == {}
