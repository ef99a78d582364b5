"""Requests to the recorder, and what their answers mean. Nothing here repeats a request."""

from __future__ import annotations

import email.utils
import gzip
import ipaddress
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx

from .settings import Limits

#: What to do with a request that was not carried out: send it again later; wait for another key or address; never send it again
#: as it is.
Failure = Literal["later", "refused_here", "unfit"]
_PACK_BYTES_MIN = 4096
_HASHES_MAX = 10_000


class TransportError(Exception):
    """A request that was not carried out. Its text holds neither key nor content."""

    def __init__(self, kind: Failure, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.kind: Failure = kind
        self.retry_after = retry_after


@dataclass(frozen=True)
class Result:
    """What became of one event."""

    status: str
    #: The last part of the problem's type, where the event was rejected.
    problem: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Answer:
    """The answer to a batch."""

    results: list[Result]
    receipt: str | None


def is_loopback(url: str) -> bool:
    """Whether the address is this machine's own."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Transport:
    """A connection to one recorder with one key. Used by one thread."""

    def __init__(self, url: str, key: str, limits: Limits, http: httpx.BaseTransport | None = None) -> None:
        self._packs = not is_loopback(url)
        self._url = url.rstrip("/")
        self._key = key
        self._limits = limits
        self._way = http
        self._http: httpx.Client | None = None

    def missing(self, digests: Sequence[str]) -> set[str]:
        """Which of these blobs the recorder does not have."""
        missing: set[str] = set()
        for at in range(0, len(digests), _HASHES_MAX):
            body = json.dumps(list(digests[at : at + _HASHES_MAX])).encode()
            answer = self._send("POST", "/v1/blobs/missing", body, "application/json")
            listed = answer.get("missing")
            if not isinstance(listed, list):
                raise TransportError("later", "the answer about blobs is none of a recorder")
            missing.update(str(digest) for digest in listed)
        return missing

    def put_blob(self, digest: str, content: bytes) -> None:
        """Stores a blob."""
        self._send("PUT", f"/v1/blobs/{digest}", content, "application/octet-stream")

    def post_events(self, events: Sequence[bytes]) -> Answer:
        """Posts events, one a line, and returns what became of each."""
        answer = self._send("POST", "/v1/events", b"\n".join(events), "application/x-ndjson")
        listed = answer.get("results")
        if not isinstance(listed, list) or len(listed) != len(events):
            raise TransportError("later", "the answer to events is none of a recorder")
        receipt = answer.get("receipt")
        return Answer([_result(one) for one in listed], receipt if isinstance(receipt, str) else None)

    def close(self) -> None:
        """Closes the connection."""
        if self._http is not None:
            self._http.close()

    def _connection(self) -> httpx.Client:
        # Made by the thread that uses it: reading the system's certificates takes a while.
        if self._http is None:
            limits = self._limits
            self._http = httpx.Client(
                base_url=self._url,
                headers={"authorization": f"Bearer {self._key}"},
                timeout=httpx.Timeout(limits.answer_seconds_max, connect=limits.connect_seconds_max),
                limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30),
                # A proxy of the environment is for other machines.
                trust_env=not is_loopback(self._url),
                follow_redirects=False,
                transport=self._way,
            )
        return self._http

    def _send(self, method: str, path: str, body: bytes, media: str) -> dict[str, Any]:
        headers = {"content-type": media}
        if self._packs and len(body) >= _PACK_BYTES_MIN:
            body = gzip.compress(body, compresslevel=1)
            headers["content-encoding"] = "gzip"
        try:
            response = self._connection().request(method, path, content=body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise TransportError("later", f"{type(error).__name__}: {error}") from None
        answer = _json(response)
        if response.status_code in (200, 201):
            return answer
        raise _failure(response, answer)


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        answer = response.json()
    except (ValueError, UnicodeDecodeError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _result(listed: object) -> Result:
    if not isinstance(listed, dict):
        return Result("unreadable")
    problem = listed.get("problem")
    if not isinstance(problem, dict):
        return Result(str(listed.get("status")))
    return Result("rejected", slug(problem), str(problem.get("detail", ""))[:1000])


def slug(problem: dict[str, Any]) -> str:
    """The name of a problem: the last part of its type."""
    return str(problem.get("type", "")).rpartition(":")[2]


def _failure(response: httpx.Response, problem: dict[str, Any]) -> TransportError:
    status = response.status_code
    said = f"{status} {slug(problem)}: {str(problem.get('detail', ''))[:300]}" if problem else str(status)
    if status in (401, 403):
        return TransportError("refused_here", f"the recorder does not take this key for it ({said})")
    if status in (408, 425, 429) or status >= 500:
        return TransportError("later", said, _retry_after(response.headers.get("retry-after")))
    # What is too large may be so for something on the way, which answers in its own words.
    if status == 413 or (status in (400, 409, 411, 415, 422) and problem):
        return TransportError("unfit", said)
    return TransportError("refused_here", f"this address is none of a recorder ({said})")


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
