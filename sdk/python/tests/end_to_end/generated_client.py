"""Uses the client that openapi-python-client made of the recorder's own description, in every way that agents and auditors do.

Arguments: the recorder's address, a key of an admin, the description.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from http import HTTPStatus
from io import BytesIO

from blake3 import blake3
from openapi_spec_validator import validate
from recorder import AuthenticatedClient, models
from recorder.api.admin import create_key, list_keys
from recorder.api.audit import get_presence
from recorder.api.proofs import get_checkpoint, get_inclusion_proof
from recorder.api.read import get_blob, get_session, list_entries, list_sessions
from recorder.api.record import find_missing_blobs, get_limits, post_events, put_blob
from recorder.types import File


def main() -> None:
    """Posts, uploads, reads, and demands what the description promises."""
    url, key, description = sys.argv[1:]
    with open(description) as file:
        validate(json.load(file))
    with AuthenticatedClient(base_url=url, token=key) as client:
        record(client)
        read(client)


def record(client: AuthenticatedClient) -> None:
    """A session with a blob, event by event and as a batch; and what is refused."""
    told = get_limits.sync(client=client)
    assert isinstance(told, models.Limits)
    assert told.event_bytes_max == 262_144

    started = models.Event(
        id="1", session="generated", type_="session.started", data=models.SessionStarted(label="by a generated client")
    )
    for status, kind in ((HTTPStatus.CREATED, "recorded"), (HTTPStatus.OK, "duplicate")):
        answer = post_events.sync_detailed(client=client, body=started)
        assert answer.status_code == status, answer
        assert answer.parsed is not None
        told_event = answer.parsed.to_dict()
        assert (told_event["status"], told_event["id"], told_event["sequence"]) == (kind, "1", 0), told_event
        assert told_event["receipt"].startswith("remembrancer receipt v1\n")

    text = b"shelf 7: damp at the spine"
    digest = blake3(text).hexdigest()
    lacking = find_missing_blobs.sync(client=client, body=[digest])
    assert isinstance(lacking, models.MissingAnswer)
    assert lacking.missing == [digest]
    stored = put_blob.sync(client=client, hash_=digest, body=File(payload=BytesIO(text)))
    assert isinstance(stored, models.BlobAnswer)
    assert (stored.hash_, stored.bytes_) == (digest, len(text))

    def event(id: str, kind: str, data: object, **more: object) -> models.Event:
        return models.Event(id=id, session="generated", type_=kind, data=data, **more)

    limit = models.ConstraintDeclared(id="limit", kind=models.ConstraintKind.PROHIBITION, text="Never move a ledger.")
    system = models.Part(kind=models.PartKind.SYSTEM, text="Never move a ledger.")
    result = models.Part(kind=models.PartKind.TOOL_RESULT, hash_=digest, call_id="c1")
    batch = [
        event("2", "constraint.declared", limit),
        event("3", "context.captured", models.ContextCaptured(turn=1, parts=[system])),
        event("4", "tool.called", models.ToolCalled(turn=1, call_id="c1", tool="read", arguments={"shelf": 7})),
        event("5", "context.captured", models.ContextCaptured(turn=2, base=1, parts=[result]), blobs=[digest]),
        event("6", "custom.note", models.CustomPayload.from_dict({"any": ["thing"]}), time=datetime.now(timezone.utc)),
        event("7", "tool.invented", models.CustomPayload.from_dict({})),
    ]
    answer = post_events.sync(client=client, body=batch)
    assert isinstance(answer, models.BatchAnswer), answer
    told_results = [one.to_dict() for one in answer.results]
    assert [one["status"] for one in told_results] == ["recorded"] * 5 + ["rejected"], told_results
    assert told_results[5]["problem"]["type"] == "urn:remembrancer:problem:unknown-type"

    refused = post_events.sync_detailed(client=client, body=event("8", "tool.invented", models.CustomPayload.from_dict({})))
    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert isinstance(refused.parsed, models.Problem), refused
    assert refused.parsed.status == 422


def read(client: AuthenticatedClient) -> None:
    """The session, page by page, with its blob, its analysis and its proofs."""
    page = list_sessions.sync(client=client, limit=10)
    assert page is not None
    assert "generated" in [item.id for item in page.items]
    session = get_session.sync("generated", client=client)
    assert isinstance(session, models.SessionSummary)
    assert (session.entries, session.turns, session.sealed) == (6, 2, False)

    found, after = [], None
    while True:
        more = list_entries.sync("generated", client=client, limit=4, **({} if after is None else {"after": after}))
        assert more is not None
        found.extend(more.items)
        after = more.next_
        if after is None:
            break
    assert [(item.entry.sequence, item.entry.type_) for item in found][:2] == [(0, "session.started"), (1, "constraint.declared")]
    assert found[5].data == {"any": ["thing"]}
    digest = found[4].entry.blobs[0]
    blob = get_blob.sync(digest, client=client)
    assert isinstance(blob, File)
    assert blake3(blob.payload.read()).hexdigest() == digest

    states = get_presence.sync("generated", client=client)
    assert states is not None
    turns = states if isinstance(states, dict) else states.to_dict()
    assert [turn["states"] for turn in turns["turns"]] == [{"limit": "verbatim"}] * 2
    note = get_checkpoint.sync(client=client)
    assert isinstance(note, str)
    size = int(note.splitlines()[1])
    proof = get_inclusion_proof.sync(client=client, index=found[0].index, size=size)
    assert isinstance(proof, models.ProofAnswer)

    absent = get_session.sync("nobody", client=client)
    assert isinstance(absent, models.Problem), absent
    assert absent.type_ == "urn:remembrancer:problem:not-found"
    made = create_key.sync(client=client, body=models.WantedKey(role=models.Role.READ, name="reader"))
    assert isinstance(made, models.NewToken)
    keys = list_keys.sync(client=client)
    assert isinstance(keys, models.KeyList)
    assert made.id in [known.id for known in keys.items]


if __name__ == "__main__":
    main()
