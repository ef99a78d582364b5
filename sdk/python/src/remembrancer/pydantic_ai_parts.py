"""Context parts of what pydantic-ai hands to a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    BinaryContent,
    CompactionPart,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters

from .context import digest_of
from .json_value import encode, plain
from .payloads import Part, RequestedCall, Usage

#: Records that pydantic-ai keeps in a history and sends to nobody.
_NOT_SENT = {"instruction-baseline", "capability-load-delta", "model-settings-delta"}


def parts_of_request(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> list[Part]:
    """The parts of a request in the order that models send them: tools, instructions, messages."""
    parts = [
        Part(
            "tool_schema",
            _json({"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}),
            tool=tool.name,
        )
        for tool in (*parameters.function_tools, *parameters.output_tools)
    ]
    parts.extend(Part("system", instruction) for instruction in _instructions(messages, parameters))
    for number, message in enumerate(messages):
        for part in message.parts:
            parts.extend(_part(number, part))
    return parts


def texts_of_response(response: ModelResponse) -> list[str]:
    """What a response says in words."""
    return [part.content for part in response.parts if isinstance(part, TextPart) and part.content]


def calls_of_response(response: ModelResponse) -> list[tuple[RequestedCall, object]]:
    """The calls that a response holds, with their arguments."""
    calls = (part for part in response.parts if isinstance(part, BaseToolCallPart))
    return [(RequestedCall(call.tool_call_id, call.tool_name), _arguments(call.args)) for call in calls]


def returns_of(messages: Sequence[ModelMessage]) -> Iterator[BaseToolReturnPart[Any]]:
    """Every result of a call in a history, by whoever carried it out."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, BaseToolReturnPart):
                yield part


def usage_of(response: ModelResponse) -> Usage | None:
    """What the provider counted; none if it counted nothing."""
    usage = response.usage
    if not usage.input_tokens and not usage.output_tokens:
        return None
    return Usage(
        usage.input_tokens,
        usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
    )


def _instructions(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> Iterable[str]:
    given: Sequence[InstructionPart] | None = parameters.instruction_parts
    if given is not None:
        return [part.content for part in given if part.content]
    requests = (message for message in reversed(messages) if isinstance(message, ModelRequest))
    last = next((request.instructions for request in requests if request.instructions is not None), None)
    return [last] if last else []


def _part(number: int, part: Any) -> list[Part]:  # noqa: ANN401 - one of many kinds, newer ones included
    if isinstance(part, SystemPromptPart):
        return [Part("system", part.content, message=number)]
    if isinstance(part, UserPromptPart):
        items = [part.content] if isinstance(part.content, str) else part.content
        return [_content(number, item) for item in items]
    if isinstance(part, BaseToolReturnPart):
        return _returned(number, part)
    if isinstance(part, TextPart):
        return [Part("assistant", part.content, message=number)]
    if isinstance(part, ThinkingPart):
        return [_thought(number, part)]
    if isinstance(part, BaseToolCallPart):
        said = f"{part.tool_name} {part.args_as_json_str()}"
        return [Part("tool_call", said, message=number, call_id=part.tool_call_id, tool=part.tool_name)]
    if isinstance(part, CompactionPart):
        return [_summary(number, part)]
    if getattr(part, "part_kind", "") in _NOT_SENT:
        return []
    # Feedback to be tried again, and what later versions add.
    render = getattr(part, "model_response", None)
    if callable(render):
        return [Part("user", str(render()), origin="application", message=number)]
    return [Part("other", _json(plain(part)), message=number)]


def _content(number: int, item: object) -> Part:
    if isinstance(item, str):
        return Part("user", item, message=number)
    if isinstance(item, TextContent):
        return Part("user", item.content, message=number)
    if isinstance(item, BinaryContent):
        # What is no text is named, not kept.
        return Part("other", hash=digest_of(item.data), withheld=f"content of type {item.media_type}", message=number)
    return Part("other", _json(plain(item)), message=number)


def _returned(number: int, part: BaseToolReturnPart[Any]) -> list[Part]:
    whole = Part(
        "tool_result",
        part.model_response_str(),
        message=number,
        call_id=part.tool_call_id,
        tool=part.tool_name,
    )
    return [whole, *(_content(number, file) for file in part.files)]


def _thought(number: int, part: ThinkingPart) -> Part:
    if not part.content and part.signature:
        return Part("reasoning", hash=digest_of(part.signature), encrypted=True, message=number)
    return Part("reasoning", part.content, message=number)


def _summary(number: int, part: CompactionPart) -> Part:
    if part.content is not None:
        return Part("summary", part.content, message=number)
    return Part("summary", hash=digest_of(_json(part.provider_details)), encrypted=True, message=number)


def _arguments(args: object) -> object:
    """The arguments as the model wrote them: JSON where they are JSON."""
    if not isinstance(args, str):
        return args
    try:
        return json.loads(args)
    except (ValueError, RecursionError):
        return args


def _json(value: object) -> str:
    return encode(plain(value)).decode()
