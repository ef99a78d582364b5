"""Recording tools that an agent's own loop calls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, cast, overload

from .current import call_in_hand, current_session
from .session import Session

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class _Call:
    """A call that is carried out, and what is recorded of it."""

    session: Session
    call_id: str
    tool: str
    effect: str | None

    def returned(self, result: object) -> None:
        self.session.tool_returned(self.call_id, result, tool=self.tool, effect=self.effect)

    def failed(self, error: BaseException) -> None:
        self.session.tool_returned(
            self.call_id, {"error": type(error).__name__, "message": _words(error)}, status="error", tool=self.tool
        )


@overload
def recorded_tool(function: Callable[P, T], /) -> Callable[P, T]: ...
@overload
def recorded_tool(
    *, name: str | None = None, target: str | None = None, operation: str | None = None, effect: str | None = None
) -> Callable[[Callable[P, T]], Callable[P, T]]: ...
def recorded_tool(
    function: Callable[P, T] | None = None,
    /,
    *,
    name: str | None = None,
    target: str | None = None,
    operation: str | None = None,
    effect: str | None = None,
) -> Callable[P, T] | Callable[[Callable[P, T]], Callable[P, T]]:
    """Records every call of a function as an action of the current session, with its arguments and its result.

    Works for plain and for `async` functions. The call belongs to the last model request of the session. Inside
    :func:`tool_call` it has the id that the model gave it; else it gets one. Without a current session nothing is recorded.
    """

    def decorate(inner: Callable[P, T]) -> Callable[P, T]:
        tool = name or str(getattr(inner, "__name__", "tool"))

        if inspect.iscoroutinefunction(inner):

            @functools.wraps(inner)
            async def recorded_async(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - the function's own
                call = _begin(inner, tool, target, operation, effect, args, kwargs)
                try:
                    result = await inner(*args, **kwargs)
                except BaseException as error:
                    if call is not None:
                        call.failed(error)
                    raise
                if call is not None:
                    call.returned(result)
                return result

            return cast(Callable[P, T], recorded_async)

        @functools.wraps(inner)
        def recorded(*args: P.args, **kwargs: P.kwargs) -> T:
            call = _begin(inner, tool, target, operation, effect, args, kwargs)
            try:
                result = inner(*args, **kwargs)
            except BaseException as error:
                if call is not None:
                    call.failed(error)
                raise
            if call is not None:
                call.returned(result)
            return result

        return recorded

    return decorate if function is None else decorate(function)


@contextmanager
def tool_call(call_id: str) -> Iterator[None]:
    """Within it, a recorded tool and a child session belong to the call with this id, which the model made."""
    token = call_in_hand.set(call_id)
    try:
        yield
    finally:
        try:
            call_in_hand.reset(token)
        except ValueError:
            call_in_hand.set(None)


def _begin(
    function: Callable[..., object],
    tool: str,
    target: str | None,
    operation: str | None,
    effect: str | None,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> _Call | None:
    session = current_session()
    if session is None:
        return None
    call_id = call_in_hand.get() or f"call-{session._client._next_id()}"
    session.tool_called(call_id, tool, _arguments(function, args, kwargs), target=target, operation=operation)
    return _Call(session, call_id, tool, effect)


def _arguments(function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        named = dict(bound.arguments)
    except (TypeError, ValueError):
        named = {**{str(number): value for number, value in enumerate(args)}, **kwargs}
    # A method's own object is no argument.
    named.pop("self", None)
    return named


def _words(error: BaseException) -> str:
    try:
        return str(error)[:10_000]
    except Exception:  # noqa: BLE001 - an exception may raise when it is shown
        return ""
