"""A recorder in memory, with the rules of the real one that the client relies on."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from typing import Any

import httpx
from blake3 import blake3


class FakeRecorder:
    """Answers as the recorder does. What it is told to be, it is from the next request on."""

    def __init__(self) -> None:
        self.events: dict[tuple[str, str], bytes] = {}
        self.order: list[dict[str, Any]] = []
        self.blobs: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.batches: list[int] = []
        #: Called before a request is carried out; may raise, or return an answer in its place.
        self.before: Callable[[httpx.Request], httpx.Response | None] = lambda request: None
        self.reject: Callable[[dict[str, Any]], str | None] = lambda event: None
        self.receipt: str | None = None
        self._lock = threading.Lock()

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._answer)

    def of(self, session: str) -> list[dict[str, Any]]:
        return [event for event in self.order if event["session"] == session]

    def types(self, session: str) -> list[str]:
        return [event["type"] for event in self.of(session)]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        body = request.read()
        if request.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        with self._lock:
            self.requests.append((request.method, request.url.path))
            answer = self.before(request)
            if answer is not None:
                return answer
            if request.url.path == "/v1/blobs/missing":
                return httpx.Response(200, json={"missing": [one for one in json.loads(body) if one not in self.blobs]})
            if request.method == "PUT":
                digest = request.url.path.rpartition("/")[2]
                if blake3(body).hexdigest() != digest:
                    return problem(422, "blob-hash-mismatch")
                self.blobs[digest] = body
                return httpx.Response(201, json={"hash": digest, "bytes": len(body)})
            assert request.headers["content-type"] == "application/x-ndjson"
            lines = body.split(b"\n")
            self.batches.append(len(lines))
            answered: dict[str, Any] = {"results": [self._take(line) for line in lines]}
            if self.receipt:
                answered["receipt"] = self.receipt
            return httpx.Response(200, json=answered)

    def _take(self, line: bytes) -> dict[str, Any]:
        event = json.loads(line)
        place = (event["session"], event["id"])
        stored = self.events.get(place)
        if stored is not None:
            return {"status": "duplicate"} if stored == line else rejected("id-conflict")
        kinds = self.types(event["session"])
        slug = self.reject(event)
        if slug is None and not kinds and event["type"] != "session.started":
            slug = "unknown-session"
        if slug is None and "session.ended" in kinds:
            slug = "session-ended"
        if slug is None and any(digest not in self.blobs for digest in event.get("blobs", [])):
            slug = "blob-missing"
        if slug is not None:
            return rejected(slug)
        self.events[place] = line
        self.order.append(event)
        return {"status": "recorded", "id": event["id"]}


def rejected(slug: str) -> dict[str, Any]:
    return {"status": "rejected", "problem": {"type": f"urn:remembrancer:problem:{slug}", "detail": f"a test's {slug}"}}


def problem(status: int, slug: str, headers: dict[str, str] | None = None) -> httpx.Response:
    body = {"type": f"urn:remembrancer:problem:{slug}", "title": slug, "status": status, "detail": "a test's"}
    return httpx.Response(status, json=body, headers=headers)


def contexts(events: list[dict[str, Any]], blobs: dict[str, bytes]) -> dict[int, list[tuple[str, str]]]:
    """The contexts that a reader of the record finds: kind and text of each part, by turn."""
    texts = {digest: content.decode("utf-8", "replace") for digest, content in blobs.items()}
    captured = [event["data"] for event in events if event["type"] == "context.captured"]
    for event in events:
        said = [*event["data"].get("text", [])] if event["type"] == "model.responded" else []
        if event["type"] == "tool.returned" and isinstance(event["data"].get("result"), str):
            said.append(event["data"]["result"])
        for part in event["data"].get("parts", []):
            if "text" in part:
                said.append(part["text"])
        texts.update({blake3(one.encode()).hexdigest(): one for one in said})
    found: dict[int, list[tuple[str, str]]] = {}
    for data in captured:
        listed = data["parts"]
        if "parts_blob" in data:
            listed = json.loads(blobs[data["parts_blob"]])
            texts.update({blake3(part["text"].encode()).hexdigest(): part["text"] for part in listed if "text" in part})
        own = [(part["kind"], part["text"] if "text" in part else texts[part["hash"]]) for part in listed]
        found[data["turn"]] = (found[data["base"]] if "base" in data else []) + own
    return found
