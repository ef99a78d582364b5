"""The session and the call that the running code belongs to."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .session import Session

current: ContextVar[Session | None] = ContextVar("remembrancer_session", default=None)
call_in_hand: ContextVar[str | None] = ContextVar("remembrancer_call", default=None)


def current_session() -> Session | None:
    """The session that the running code belongs to."""
    return current.get()


def current_call() -> str | None:
    """The tool call that the running code carries out."""
    return call_in_hand.get()


def leave(token: Token[Session | None] | None) -> None:
    """Makes the session before current again."""
    if token is not None:
        try:
            current.reset(token)
        except ValueError:
            # Entered in another context than left, as an asynchronous generator may be.
            current.set(None)
