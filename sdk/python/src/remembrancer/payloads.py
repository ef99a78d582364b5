"""The parts of payloads: what `docs/ledger-format.md` and the JSON Schemas under `schema/json` define, typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

from .json_value import plain, text

#: How something became known, from the strongest witness to the weakest.
Witness = Literal["exact", "telemetry", "transcript", "hook", "claimed"]
PartKind = Literal[
    "system", "user", "assistant", "reasoning", "tool_call", "tool_result", "summary", "memory", "tool_schema", "other"
]
PartOrigin = Literal["operator", "user", "tool", "model", "application"]
TokenSource = Literal["measured", "counted", "estimated"]
ConstraintKind = Literal["prohibition", "permission", "obligation", "fact"]
ReturnStatus = Literal["ok", "error", "denied"]
Verdict = Literal["allow", "deny"]
#: What an action does to what it touches.
Effect = Literal["read", "write", "delete", "network", "execute", "privilege"]
MutationKind = Literal[
    "compaction",
    "microcompaction",
    "truncation",
    "server_edit",
    "clear",
    "resume",
    "rewind",
    "fork",
    "dangling_parent",
    "injection",
    "restatement",
    "rewrite",
]
FateKind = Literal["kept", "dropped", "summarised", "stubbed", "pinned", "injected", "withheld"]


@dataclass(frozen=True)
class StatedBy:
    """Who stated something, and where."""

    role: str
    name: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class ArgumentCondition:
    """A condition on one top-level argument of a call."""

    name: str
    like: str | None = None
    at_most: int | None = None
    at_least: int | None = None


@dataclass(frozen=True)
class ActionPattern:
    """Which actions are meant; everything that is given must hold. ``*`` stands for any run of characters."""

    tool: str | None = None
    target: str | None = None
    operation: str | None = None
    arguments: Sequence[ArgumentCondition] = ()
    effects: Sequence[Effect] = ()
    paths: Sequence[str] = ()


@dataclass(frozen=True)
class ToolDeclaration:
    """A tool that the agent was given."""

    tool: str
    target: str | None = None
    operation: str | None = None
    effects: Sequence[Effect] | None = None


@dataclass(frozen=True)
class Places:
    """Where the paths of actions and patterns are looked for: absolute directories, and links that are known."""

    root: str | None = None
    home: str | None = None
    ignores_case: bool = False
    links: Mapping[str, str] | None = None


@dataclass(frozen=True)
class MatchTerm:
    """One thing to look for: exactly one of `term`, `literal` and `regex`."""

    term: str | None = None
    substring: bool = False
    literal: str | None = None
    regex: str | None = None


@dataclass(frozen=True)
class Matcher:
    """How to find a constraint in a context when its words may vary."""

    all_of: Sequence[MatchTerm] = ()
    any_of: Sequence[MatchTerm] = ()
    any_part: bool = False


@dataclass(frozen=True)
class Part:
    """One part of a context, with its text; or with the hash of a text that may not be kept or cannot be read."""

    kind: PartKind
    text: str | None = None
    origin: PartOrigin | None = None
    hash: str | None = None
    withheld: str | None = None
    encrypted: bool = False
    message: int | None = None
    name: str | None = None
    call_id: str | None = None
    tool: str | None = None
    stub: bool = False
    sources: Sequence[str] = ()


@dataclass(frozen=True)
class TokenCount:
    """The size of a context, and how it is known."""

    count: int
    source: TokenSource = "measured"


@dataclass(frozen=True)
class Usage:
    """What a response cost, in tokens; the input includes what was read from a cache."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


@dataclass(frozen=True)
class RequestedCall:
    """A call named in a response."""

    call_id: str
    tool: str


@dataclass(frozen=True)
class Trigger:
    """Why the application changed the context."""

    cause: str | None = None
    threshold_tokens: int | None = None
    observed_tokens: int | None = None


@dataclass(frozen=True)
class Fate:
    """What the application says became of one part, named by its hash, its call, or its position."""

    fate: FateKind
    hash: str | None = None
    call_id: str | None = None
    part_kind: PartKind | None = None
    position: int | None = None


@dataclass(frozen=True)
class Summary:
    """A summary as it entered the context, and what made it."""

    text: str
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True)
class CountedTokens:
    """The same request before and after a change of the context."""

    uncompacted: int
    compacted: int
    source: TokenSource
    fixed_overhead: int | None = None


@dataclass(frozen=True)
class ClaimedAction:
    """An action that a report says was taken."""

    text: str
    tool: str | None = None
    argument: str | None = None


def members(value: object) -> Any:  # noqa: ANN401 - JSON is any of its kinds
    """A payload's JSON: what is not given is left out."""
    if isinstance(value, (str, int)):
        return plain(value)
    if is_dataclass(value) and not isinstance(value, type):
        named = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: members(member) for name, member in named if _is_given(member)}
    if isinstance(value, dict):
        return {text(str(name)): members(member) for name, member in value.items() if _is_given(member)}
    if isinstance(value, (list, tuple)):
        return [members(item) for item in value]
    return plain(value)


def _is_given(member: object) -> bool:
    return member is not None and member is not False and not (isinstance(member, (list, tuple, dict)) and not member)
