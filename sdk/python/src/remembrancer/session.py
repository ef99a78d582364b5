"""One session: everything that is recorded of one run of one agent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .context import digest_of
from .current import current, current_call, leave
from .cut import fit, fit_text
from .event import identifier
from .json_value import plain, text
from .payloads import (
    ActionPattern,
    ClaimedAction,
    ConstraintKind,
    CountedTokens,
    Fate,
    Matcher,
    MutationKind,
    Part,
    Places,
    RequestedCall,
    ReturnStatus,
    StatedBy,
    Summary,
    TokenCount,
    ToolDeclaration,
    Trigger,
    Usage,
    Verdict,
    Witness,
    members,
)
from .recording import Recording, harmless

if TYPE_CHECKING:
    from .client import Client

#: Arguments and results that are longer as JSON, in bytes, are cut; see :mod:`remembrancer.cut`.
VALUE_BYTES_MAX = 100 * 1024
#: A response's texts together.
RESPONSE_BYTES_MAX = 160 * 1024
_OPEN_CALLS_MAX = 10_000
_CUSTOM_TYPE = re.compile(r"^custom\.[A-Za-z0-9._-]{1,93}$")


class Session(Recording):
    """Records one run of one agent. Made by :meth:`Client.session`.

    Every method returns at once: the id of the event that it recorded, or none if it recorded nothing. As a context manager it is
    the current session of the code within, and is ended with it.
    """

    def __init__(self, client: Client, id: str | None, *, agent: str | None, turn: int) -> None:
        super().__init__(client, id, agent=agent, turn=turn)
        self._tokens: list[Token[Session | None]] = []
        # Calls without a result.
        self._open_calls: dict[str, None] = {}

    @harmless
    def intent(
        self,
        objective: str,
        *,
        targets: Sequence[str] = (),
        stated_by: StatedBy | None = None,
        witness: Witness | None = None,
    ) -> str | None:
        """Declares what the agent is about to do, and what for."""
        data = {"objective": objective, "targets": targets, "stated_by": stated_by, "witness": witness}
        return self._record("intent.declared", data)

    @harmless
    def scope(
        self,
        *,
        tools: Sequence[ToolDeclaration] = (),
        permitted: Sequence[ActionPattern] = (),
        prohibited: Sequence[ActionPattern] = (),
        policy: str | None = None,
        places: Places | None = None,
        withdrawn: bool = False,
        stated_by: StatedBy | None = None,
        witness: Witness | None = None,
    ) -> str | None:
        """Declares which actions are permitted and which prohibited. A later declaration is a new version."""
        return self._record(
            "scope.declared",
            {
                "tools": tools,
                "permitted": permitted,
                "prohibited": prohibited,
                "policy": policy,
                "places": places,
                "withdrawn": withdrawn,
                "stated_by": stated_by,
                "witness": witness,
            },
        )

    @harmless
    def constraint(
        self,
        id: str,
        kind: ConstraintKind,
        statement: str,
        *,
        matcher: Matcher | None = None,
        actions: Sequence[ActionPattern] = (),
        stated_by: StatedBy | None = None,
        inferred: bool = False,
        witness: Witness | None = None,
    ) -> str | None:
        """Declares a limit, duty or fact whose presence in the context is watched; `statement` as the agent was told it."""
        return self._record(
            "constraint.declared",
            {
                "id": identifier(id),
                "kind": kind,
                "text": statement,
                "matcher": matcher,
                "actions": actions,
                "stated_by": stated_by,
                "inferred": inferred,
                "witness": witness,
            },
        )

    def context(
        self,
        parts: Sequence[Part],
        *,
        turn: int | None = None,
        tokens: TokenCount | int | None = None,
        witness: Witness | None = None,
        incomplete: str | None = None,
    ) -> int:
        """Records what is sent to the model, as the whole list of its parts, and returns the number of this request.

        Only what is new goes to the recorder. Without `turn` it is the request after the last one.
        """
        number = self.turn + 1 if turn is None else turn
        self._context(number, parts, tokens, witness, incomplete)
        if isinstance(number, int):
            self.turn = max(self.turn, number)
        return number

    @harmless
    def _context(
        self,
        turn: int,
        parts: Sequence[Part],
        tokens: TokenCount | int | None,
        witness: Witness | None,
        incomplete: str | None,
    ) -> str | None:
        if not self._client.is_recording:
            return None
        counted = TokenCount(tokens) if isinstance(tokens, int) else tokens
        head = members({"tokens": counted, "witness": witness, "incomplete": incomplete})
        with self._lock:
            captured = self._writer.write(turn, list(parts), head)
            return self._put("context.captured", captured.data, captured.blobs)

    @harmless
    def mutated(
        self,
        kind: MutationKind,
        *,
        turn: int | None = None,
        name: str | None = None,
        trigger: Trigger | None = None,
        parts: Sequence[Fate] = (),
        summary: Summary | None = None,
        counted: CountedTokens | None = None,
        withheld: Sequence[str] = (),
        injected_fault: str | None = None,
        witness: Witness | None = None,
    ) -> str | None:
        """Records the application's own account of a change of the context, first sent with `turn`: the next, if not given."""
        return self._record(
            "context.mutated",
            {
                "turn": self.turn + 1 if turn is None else turn,
                "kind": kind,
                "name": name,
                "trigger": trigger,
                "parts": parts,
                "summary": summary,
                "counted": counted,
                "withheld": withheld,
                "injected_fault": injected_fault,
                "witness": witness,
            },
        )

    @harmless
    def response(
        self,
        texts: Sequence[str] | str = (),
        *,
        calls: Sequence[RequestedCall] = (),
        turn: int | None = None,
        usage: Usage | None = None,
        model: str | None = None,
        stop_reason: str | None = None,
        response_id: str | None = None,
        witness: Witness | None = None,
    ) -> str | None:
        """Records the answer to a request: the last one, unless `turn` says otherwise."""
        listed = [text(one) for one in ([texts] if isinstance(texts, str) else texts)]
        kept = fit_text(listed, RESPONSE_BYTES_MAX)
        data = {
            "turn": self.turn if turn is None else turn,
            "text": kept,
            "calls": calls,
            "usage": usage,
            "model": model,
            "stop_reason": stop_reason,
            "response_id": response_id,
            "witness": witness,
        }
        return self._record("model.responded", data, said=[one for one in kept if one in listed])

    @harmless
    def tool_called(
        self,
        call_id: str,
        tool: str,
        arguments: object = None,
        *,
        turn: int | None = None,
        target: str | None = None,
        operation: str | None = None,
        witness: Witness | None = None,
    ) -> str | None:
        """Records an action: a call that the response to `turn`, or to the last request, carried."""
        self._open_calls[call_id] = None
        if len(self._open_calls) > _OPEN_CALLS_MAX:
            self._open_calls.pop(next(iter(self._open_calls)), None)
        return self._record(
            "tool.called",
            {
                "turn": self.turn if turn is None else turn,
                "call_id": call_id,
                "tool": tool,
                "target": target,
                "operation": operation,
                "witness": witness,
            },
            raw={} if arguments is None else {"arguments": fit(arguments, VALUE_BYTES_MAX)},
        )

    @harmless
    def tool_returned(
        self,
        call_id: str,
        result: object = None,
        *,
        status: ReturnStatus = "ok",
        tool: str | None = None,
        effect: str | None = None,
        witness: Witness | None = None,
    ) -> str | None:
        """Records what a call gave back. Denied: the application refused to run it."""
        self._open_calls.pop(call_id, None)
        kept = fit(result, VALUE_BYTES_MAX)
        return self._record(
            "tool.returned",
            {"call_id": call_id, "tool": tool, "status": status, "effect": effect, "witness": witness},
            raw={} if result is None else {"result": kept},
            said=[kept] if isinstance(kept, str) else [],
        )

    def is_open(self, call_id: str) -> bool:
        """Whether a call was recorded, and no result of it."""
        return call_id in self._open_calls

    @harmless
    def decision(
        self,
        decider: str,
        *,
        call_id: str | None = None,
        verdict: Verdict | None = None,
        enforced: bool = False,
        flags: Sequence[str] = (),
        violations: Sequence[str] = (),
        reason: str | None = None,
        reference: str | None = None,
        witness: Witness | None = None,
    ) -> str | None:
        """Records what a guard or governor said of an action."""
        return self._record(
            "decision.recorded",
            {
                "decider": decider,
                "call_id": call_id,
                "verdict": verdict,
                "enforced": enforced,
                "flags": flags,
                "violations": violations,
                "reason": reason,
                "reference": reference,
                "witness": witness,
            },
        )

    @harmless
    def artifact(
        self,
        name: str,
        content: str | bytes | None,
        *,
        kind: str | None = None,
        turn: int | None = None,
        witness: Witness | None = None,
    ) -> str | None:
        """Records the new content of a file or document that is kept outside the context; none if it was removed."""
        data: dict[str, Any] = {
            "name": name,
            "kind": kind,
            "turn": self.turn or None if turn is None else turn,
            "witness": witness,
        }
        if content is None:
            return self._record("artifact.changed", data)
        if isinstance(content, str):
            content = text(content)
            if len(content) <= VALUE_BYTES_MAX // 4:
                return self._record("artifact.changed", {**data, "hash": digest_of(content), "text": content})
            content = content.encode()
        digest = digest_of(content)
        return self._record("artifact.changed", {**data, "hash": digest}, blobs={digest: content})

    @harmless
    def report(
        self,
        body: object = None,
        *,
        claimed_actions: Sequence[ClaimedAction] | None = None,
        witness: Witness | None = None,
    ) -> str | None:
        """Records the agent's own account of what it found and did."""
        raw: dict[str, Any] = {} if body is None else {"body": fit(body, VALUE_BYTES_MAX)}
        if claimed_actions is not None:
            raw["claimed_actions"] = members(list(claimed_actions))
        return self._record("report.filed", {"witness": witness}, raw=raw)

    @harmless
    def score(
        self,
        criterion: str,
        value: float,
        *,
        out_of: float | None = None,
        assigned_by: str | None = None,
        witness: Witness | None = None,
    ) -> str | None:
        """Records how well the session did, by somebody's criterion."""
        data = {"criterion": criterion, "out_of": out_of, "assigned_by": assigned_by, "witness": witness}
        return self._record("score.assigned", data, raw={"value": plain(float(value))})

    @harmless
    def custom(self, kind: str, data: Mapping[str, object] | None = None) -> str | None:
        """Records anything else: kept and shown, not analysed. `kind` begins with ``custom.``."""
        if not _CUSTOM_TYPE.match(kind):
            raise ValueError(f"{kind!r} is no type of a custom event, such as custom.note")
        return self._record(kind, {}, raw=plain(dict(data or {})))

    def child(
        self,
        id: str | None = None,
        *,
        label: str | None = None,
        labels: Mapping[str, str] | None = None,
        model: str | None = None,
        agent: str | None = None,
        call_id: str | None = None,
        witness: Witness | None = None,
    ) -> Session:
        """Begins the session of a sub-agent, which `call_id`, or the call that is carried out now, started."""
        return self._client.session(
            id,
            label=label,
            labels=labels,
            model=model,
            agent=agent or self.agent,
            parent=self,
            parent_call_id=call_id or current_call(),
            witness=witness,
        )

    @harmless
    def end(self, outcome: str | None = "completed", *, reason: str | None = None, witness: Witness | None = None) -> str | None:
        """Ends the session: nothing follows. The second time it does nothing."""
        if self._is_ended:
            return None
        self._is_ended = True
        return self._record("session.ended", {"outcome": outcome, "reason": reason, "witness": witness}, is_end=True)

    def __enter__(self) -> Session:
        self._tokens.append(current.set(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        leave(self._tokens.pop() if self._tokens else None)
        self.end("completed" if kind is None else "error", reason=None if kind is None else kind.__name__)

    async def __aenter__(self) -> Session:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)

    @harmless
    def _start(self, said: Mapping[str, object], parent: str | None, parent_call_id: str | None) -> str | None:
        data: dict[str, Any] = dict(said)
        labels = said.get("labels")
        data["labels"] = {str(name): str(value) for name, value in labels.items()} if isinstance(labels, Mapping) else None
        if parent is not None:
            data["parent"] = {"session": identifier(parent), "call_id": parent_call_id}
        return self._record("session.started", data, is_start=True)
