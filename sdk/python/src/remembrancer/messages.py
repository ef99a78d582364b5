"""Context parts of the messages that the OpenAI and the Anthropic SDKs send."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

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
    messages: Sequence[Mapping[str, Any]],
    *,
    system: str | Sequence[Mapping[str, Any]] | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
) -> list[Part]:
    """The parts of a request: `messages` as the OpenAI Chat Completions or the Anthropic Messages API takes them.

    `system` is Anthropic's; `tools` are the tools' schemas of either. What is no text, such as an image, is named by its hash.
    """
    parts: list[Part] = []
    if isinstance(system, str):
        parts.append(Part("system", system))
    else:
        parts.extend(Part("system", str(block.get("text", ""))) for block in system or ())
    for tool in tools:
        inner = tool.get("function")
        named = inner if isinstance(inner, Mapping) else tool
        parts.append(Part("tool_schema", _json(tool), tool=_name(named.get("name"))))
    for number, message in enumerate(messages):
        parts.extend(_message(number, message))
    return parts


def _message(number: int, message: Mapping[str, Any]) -> list[Part]:
    kind = _ROLES.get(str(message.get("role")), "other")
    call_id = _name(message.get("tool_call_id"))
    content = message.get("content")
    parts: list[Part] = []
    if isinstance(content, str):
        parts.append(Part(kind, content, message=number, call_id=call_id, name=_name(message.get("name"))))
    elif isinstance(content, Sequence):
        parts.extend(_block(kind, number, call_id, block) for block in content)
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        tool = _name(function.get("name"))
        said = f"{tool or ''} {function.get('arguments') or ''}"
        parts.append(Part("tool_call", said, message=number, call_id=_name(call.get("id")), tool=tool))
    return parts


def _block(kind: PartKind, number: int, call_id: str | None, block: object) -> Part:
    if isinstance(block, str):
        return Part(kind, block, message=number, call_id=call_id)
    if not isinstance(block, Mapping):
        return Part("other", _json(block), message=number)
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
