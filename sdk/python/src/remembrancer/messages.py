"""Context parts of the messages that the OpenAI and the Anthropic SDKs send."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .complaint import complain
from .context import digest_of
from .json_value import encode, plain
from .payloads import Part, PartKind

_ROLES: dict[str, PartKind] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool_result",
    "function": "tool_result",
}


def parts_of_messages(
    messages: Sequence[object],
    *,
    system: object = None,
    tools: Sequence[object] = (),
) -> list[Part]:
    """The parts of a request: `messages` as the OpenAI Chat Completions or the Anthropic Messages API takes them.

    They may be mappings or the SDKs' own objects. `system` is Anthropic's, a text or blocks; `tools` are the tools' schemas of
    either. What is no text, such as an image, is named by its hash. What is of no known form is a part of kind `other`.
    """
    parts = _parts_of(_system, system)
    for tool in tools:
        parts.extend(_parts_of(_tool, tool))
    for number, message in enumerate(messages):
        parts.extend(_parts_of(_message, message, number))
    return parts


def _parts_of(make: Callable[..., list[Part]], given: object, *more: object) -> list[Part]:
    """What is made of something; nothing here raises into the agent."""
    try:
        return make(given, *more)
    except Exception as error:  # noqa: BLE001 - an agent's own objects may raise anything
        complain("messages", "a message is of no known form: %s: %s", type(error).__name__, error)
        return [Part("other", _json(given))]


def _system(system: object) -> list[Part]:
    if system is None or isinstance(system, str):
        return [] if system is None else [Part("system", system)]
    return [Part("system", str(_mapping(block)["text"])) for block in _listed(system)]


def _tool(given: object) -> list[Part]:
    tool = _mapping(given)
    inner = tool.get("function")
    named = inner if isinstance(inner, Mapping) else tool
    return [Part("tool_schema", _json(tool), tool=_name(named.get("name")))]


def _mapping(given: object) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return given
    # The SDKs' own objects are models of Pydantic.
    dumped = given.model_dump(exclude_none=True)  # type: ignore[attr-defined]
    return dumped if isinstance(dumped, Mapping) else {}


def _listed(given: object) -> Sequence[object]:
    if isinstance(given, Sequence):
        return given
    raise TypeError(f"{type(given).__name__} is no list")


def _message(given: object, number: int) -> list[Part]:
    message = _mapping(given)
    kind = _ROLES.get(str(message.get("role")), "other")
    call_id = _name(message.get("tool_call_id"))
    content = message.get("content")
    parts: list[Part] = []
    if isinstance(content, str):
        parts.append(Part(kind, content, message=number, call_id=call_id, name=_name(message.get("name"))))
    elif content is not None:
        parts.extend(_block(kind, number, call_id, block) for block in _listed(content))
    for call in map(_mapping, message.get("tool_calls") or ()):
        function = call.get("function") or {}
        tool = _name(function.get("name"))
        said = f"{tool or ''} {function.get('arguments') or ''}"
        parts.append(Part("tool_call", said, message=number, call_id=_name(call.get("id")), tool=tool))
    return parts


def _block(kind: PartKind, number: int, call_id: str | None, block: object) -> Part:
    if isinstance(block, str):
        return Part(kind, block, message=number, call_id=call_id)
    block = _mapping(block)
    match block.get("type"):
        case "text" | "input_text" | "output_text":
            return Part(kind, str(block.get("text", "")), message=number, call_id=call_id)
        case "thinking":
            return Part("reasoning", str(block.get("thinking", "")), message=number)
        case "redacted_thinking":
            digest = digest_of(str(block.get("data", "")))
            return Part("reasoning", hash=digest, encrypted=True, message=number)
        case "tool_use":
            tool = _name(block.get("name"))
            said = f"{tool or ''} {_json(block.get('input'))}"
            return Part("tool_call", said, message=number, call_id=_name(block.get("id")), tool=tool)
        case "tool_result":
            said = _result(block.get("content"))
            return Part("tool_result", said, message=number, call_id=_name(block.get("tool_use_id")))
        case named:
            # Images, sounds and files: what the recorder could not show as text is named, not kept.
            return Part("other", hash=digest_of(_json(block)), withheld=f"content of type {named}", message=number)


def _result(content: object) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Sequence) and all(isinstance(one, Mapping) and one.get("type") == "text" for one in content):
        return "\n".join(str(one["text"]) for one in content)
    return _json(content)


def _name(value: object) -> str | None:
    return None if value is None else str(value)


def _json(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return encode(plain(value)).decode()
