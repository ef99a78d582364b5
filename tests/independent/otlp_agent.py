"""An agent as its users write them: pydantic-ai with its own instrumentation and the official exporter.

Nothing here knows the recorder. Where to send and with which key stands in the environment, as the exporter reads it:
OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS. The models are functions; no network but the exporter's is used.
"""

import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
Agent.instrument_all()

requests = 0


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Looks up three orders, asks the auditor, then ends."""
    global requests
    requests += 1
    if requests <= 3:
        return ModelResponse(parts=[ToolCallPart("lookup_order", {"order_id": requests})])
    if requests == 4:
        return ModelResponse(parts=[ToolCallPart("ask_auditor", {"question": "fine?"})])
    return ModelResponse(parts=[TextPart("done")])


def shorten(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Replaces everything but the last two messages by a summary once there are five of them."""
    if len(messages) < 5:
        return messages
    summary = ModelRequest(parts=[UserPromptPart("SUMMARY: some orders were looked up.")])
    return [summary, *messages[-2:]]


auditor = Agent(TestModel(), name="auditor", instructions="Audit.")
refunds = Agent(
    FunctionModel(answer),
    name="refunds",
    instructions="Be brief.",
    capabilities=[ProcessHistory(shorten)],
)


@refunds.tool_plain
def lookup_order(order_id: int) -> dict[str, int]:
    """Looks an order up."""
    return {"order_id": order_id, "total": 250}


@refunds.tool_plain
async def ask_auditor(question: str) -> str:
    """Asks the auditor."""
    return (await auditor.run(question)).output


result = refunds.run_sync("Refund order 17. The budget limit is 100 EUR.", conversation_id=sys.argv[1])
assert result.output == "done", result.output
provider.shutdown()
