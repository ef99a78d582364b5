"""Records agents of pydantic-ai: what each request held, taken where the model is called.

`Recorder` is a capability: every run of an agent that has it becomes a session, and a run that a tool starts becomes a child of
the one whose tool it is. `RecordedModel` is a model that records its requests into a session that is given or current; it is all
that is needed where no tools are to be recorded.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.run import AgentRunResult
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from .client import Client
from .current import current, current_call, current_session, leave
from .payloads import ReturnStatus
from .pydantic_ai_parts import calls_of_response, parts_of_request, returns_of, texts_of_response, usage_of
from .session import Session
from .tools import _words, tool_call

__all__ = ["RecordedModel", "Recorder"]

_STATUS: dict[str, ReturnStatus] = {"success": "ok", "denied": "denied"}


class RecordedModel(WrapperModel):
    """A model that records every request and response into a session: the given one, or the current one."""

    def __init__(self, wrapped: Model | str, session: Session | None = None) -> None:
        super().__init__(wrapped)
        self._session = session

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Records the request, sends it, and records the response."""
        session, turn = self._capture(messages, model_settings, model_request_parameters)
        response = await super().request(messages, model_settings, model_request_parameters)
        _respond(session, turn, response, model_request_parameters)
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Records the request before it is sent, and the response when its stream is left: what came of it by then."""
        session, turn = self._capture(messages, model_settings, model_request_parameters)
        async with super().request_stream(messages, model_settings, model_request_parameters, run_context) as stream:
            try:
                yield stream
            finally:
                if session is not None:
                    try:
                        response: ModelResponse | None = stream.get()
                    except Exception as error:  # noqa: BLE001 - nothing here may break the agent
                        session._client._failed("response", error)
                        response = None
                    if response is not None:
                        _respond(session, turn, response, model_request_parameters)

    def _capture(
        self,
        messages: Sequence[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> tuple[Session | None, int]:
        session = self._session or current_session()
        if session is None or not session._client.is_recording:
            return None, 0
        try:
            # The model's own preparation, which it carries out again when it sends; the messages are prepared already.
            _, prepared = self.wrapped.prepare_request(settings, parameters)
            _answer_open_calls(session, messages)
            return session, session.context(parts_of_request(messages, prepared), witness="exact")
        except Exception as error:  # noqa: BLE001 - nothing here may break the agent
            session._client._failed("context", error)
            return None, 0


def _answer_open_calls(session: Session, messages: Sequence[ModelMessage]) -> None:
    """What a history says of calls that no tool carried out here: denied, put off, or with arguments that were no good."""
    for part in returns_of(messages):
        if session.is_open(part.tool_call_id):
            status = _STATUS.get(part.outcome, "error")
            session.tool_returned(part.tool_call_id, part.content, status=status, tool=part.tool_name, witness="exact")


def _respond(session: Session | None, turn: int, response: ModelResponse, parameters: ModelRequestParameters) -> None:
    if session is None:
        return
    # To call one of these is to give the final answer, in a form; it acts on nothing.
    answers = {tool.name for tool in parameters.output_tools}
    try:
        calls = calls_of_response(response)
        session.response(
            texts_of_response(response),
            calls=[requested for requested, _ in calls],
            turn=turn,
            usage=usage_of(response),
            model=response.model_name,
            stop_reason=response.finish_reason,
            response_id=response.provider_response_id,
            witness="exact",
        )
        for requested, arguments in calls:
            if requested.tool not in answers:
                session.tool_called(requested.call_id, requested.tool, arguments, turn=turn, witness="exact")
        # What the provider itself carried out, it has answered already.
        _answer_open_calls(session, [response])
    except Exception as error:  # noqa: BLE001 - nothing here may break the agent
        session._client._failed("response", error)


@dataclass
class Recorder(AbstractCapability[Any]):
    """Records the runs of an agent: give it to `Agent(…, capabilities=[Recorder(client)])`.

    Every run is a session of its own, ended with the run, unless `session` names one that all runs go into. `declare` is called
    with each new session, to state intent, scope and constraints before the first request.
    """

    client: Client
    session: Session | None = None
    declare: Callable[[Session], object] | None = None
    label: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Callable[[], Any]) -> AgentRunResult[Any]:
        """Begins the run's session, and ends it with the run."""
        begun = None if self.session is not None else self._begin(ctx)
        session = self.session or begun
        if session is None:
            result: AgentRunResult[Any] = await handler()
            return result
        token = current.set(session)
        outcome, reason = "error", None
        try:
            result = await handler()
            outcome = "completed"
            return result
        except BaseException as error:
            reason = type(error).__name__
            raise
        finally:
            leave(token)
            if begun is not None:
                begun.end(outcome, reason=reason)

    def get_wrapper_model(self, model: Model) -> Model | None:
        """Wraps the model that serves a request: what it is given is what is sent."""
        return None if isinstance(model, RecordedModel) else RecordedModel(model, self.session)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: Any,  # noqa: ANN401 - the tool's own
        handler: Callable[[Any], Any],
    ) -> Any:  # noqa: ANN401 - the tool's own
        """Records what a tool gave back. Runs and tools that it starts belong to this call."""
        session = self.session or current_session()
        with tool_call(call.tool_call_id):
            try:
                result = await handler(args)
            except (ApprovalRequired, CallDeferred):
                # It has not run yet; what comes of it is answered later.
                raise
            except BaseException as error:
                if session is not None:
                    told = {"error": type(error).__name__, "message": _words(error)}
                    session.tool_returned(call.tool_call_id, told, status="error", tool=call.tool_name, witness="exact")
                raise
        if session is not None:
            session.tool_returned(call.tool_call_id, _value(result), tool=call.tool_name, witness="exact")
        return result

    def _begin(self, ctx: RunContext[Any]) -> Session | None:
        try:
            name = getattr(ctx.agent, "name", None)
            session = self.client.session(
                None if ctx.run_id is None else f"run-{ctx.run_id}",
                label=self.label or name,
                labels=self.labels,
                model=ctx.model.model_name,
                agent=name,
                parent=current_session(),
                parent_call_id=current_call(),
                witness="exact",
            )
        except Exception as error:  # noqa: BLE001 - nothing here may break the agent
            self.client._failed("session", error)
            return None
        if self.declare is not None:
            try:
                self.declare(session)
            except Exception as error:  # noqa: BLE001 - nothing here may break the agent
                self.client._failed("declare", error)
        return session


def _value(result: object) -> object:
    # A tool may wrap what it returns to say more to the application than to the model.
    return getattr(result, "return_value", result)
