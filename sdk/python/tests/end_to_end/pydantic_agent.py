"""An agent of pydantic-ai whose history is silently rewritten before its third request, with a helper that it asks once.

Arguments: the recorder's address, a key, a folder for the spool.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.test import TestModel

from remembrancer import Client, Session
from remembrancer.pydantic_ai import Recorder

RULE = "Budget limit is 100 EUR."
CALLS = 4


def declare(session: Session) -> None:
    """States what is watched."""
    session.intent("buy paper")
    session.constraint("budget", "prohibition", RULE)


def compact(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Replaces the first message by a summary, once there are more than three."""
    if len(messages) <= 3:
        return messages
    return [ModelRequest([UserPromptPart("Summary: paper is to be bought.")]), *messages[1:]]


async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """Asks for an offer in each request but the last."""
    number = len(messages) // 2 + 1
    if number == CALLS:
        yield "Bought."
        return
    tool = "ask_helper" if number == 2 else "offer"
    yield {0: DeltaToolCall(name=tool, json_args='{"number":', tool_call_id=f"c{number}")}
    yield {0: DeltaToolCall(json_args=f"{number}" + "}")}


async def main() -> None:
    """Runs the agent once, streaming."""
    async with Client(sys.argv[1], sys.argv[2], spool=sys.argv[3]) as client:
        helper = Agent(TestModel(custom_output_text="Paper is cheap."), name="helper", capabilities=[Recorder(client)])
        buyer = Agent(
            FunctionModel(stream_function=answer),
            name="buyer",
            capabilities=[ProcessHistory(compact), Recorder(client, declare=declare)],
        )

        @buyer.tool_plain
        def offer(number: int) -> str:
            return f"offer {number}: 40 EUR"

        @buyer.tool_plain
        async def ask_helper(number: int) -> str:
            return (await helper.run(f"question {number}")).output

        async with buyer.run_stream("Buy paper. " + RULE) as result:
            print("".join([piece async for piece in result.stream_text(delta=True, debounce_by=None)]))
        print(await client.aflush(30))


if __name__ == "__main__":
    asyncio.run(main())
