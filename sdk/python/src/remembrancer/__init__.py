"""Records what an AI agent declared, saw and did in a Remembrancer ledger, without slowing or breaking the agent."""

from .client import Client
from .current import current_call, current_session
from .messages import parts_of_messages
from .outbox import Counts
from .payloads import (
    ActionPattern,
    ArgumentCondition,
    ClaimedAction,
    CountedTokens,
    Fate,
    Matcher,
    MatchTerm,
    Part,
    Places,
    RequestedCall,
    StatedBy,
    Summary,
    TokenCount,
    ToolDeclaration,
    Trigger,
    Usage,
)
from .session import Session
from .settings import Limits
from .tools import recorded_tool, tool_call

__all__ = [
    "ActionPattern",
    "ArgumentCondition",
    "ClaimedAction",
    "Client",
    "CountedTokens",
    "Counts",
    "Fate",
    "Limits",
    "MatchTerm",
    "Matcher",
    "Part",
    "Places",
    "RequestedCall",
    "Session",
    "StatedBy",
    "Summary",
    "TokenCount",
    "ToolDeclaration",
    "Trigger",
    "Usage",
    "current_call",
    "current_session",
    "parts_of_messages",
    "recorded_tool",
    "tool_call",
]
__version__ = "0.1.0"
