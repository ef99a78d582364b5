"""An agent on the real client libraries of Anthropic and OpenAI: agent.py SCENARIO API [stream].

`ANTHROPIC_BASE_URL` or `OPENAI_BASE_URL` leads it to the proxy, as it leads any agent there. Prints what it saw, as JSON.
"""

import json
import sys

SYSTEM = "You keep the archive. Never contact customers."
SCHEMA = {"type": "object", "properties": {"shelf": {"type": "integer"}}}
TASK = "Read shelves 7 and 8."


def result(arguments):
    return "shelf %d: damp at the spine" % arguments["shelf"]


class Anthropic:
    def __init__(self):
        import anthropic

        self.library = anthropic
        self.client = anthropic.Anthropic(max_retries=0)
        self.messages = [{"role": "user", "content": TASK}]
        self.tools = [{"name": "read", "description": "Reads a shelf", "input_schema": SCHEMA}]

    def ask(self, stream, model="tools", extra=None, **more):
        request = dict(model=model, max_tokens=1000, system=SYSTEM, messages=self.messages, tools=self.tools,
                       extra_headers=extra or {}, **more)
        if stream:
            pieces = []
            with self.client.messages.stream(**request) as events:
                for piece in events.text_stream:
                    pieces.append(piece)
                message = events.get_final_message()
            text = "".join(pieces)
        else:
            message = self.client.messages.create(**request)
            text = "".join(block.text for block in message.content if block.type == "text")
        calls = [(block.id, block.input) for block in message.content if block.type == "tool_use"]
        self.messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]})
        return text, calls, message.usage.input_tokens

    def answer(self, calls):
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": result(arguments)} for call, arguments in calls]
        self.messages.append({"role": "user", "content": blocks})

    def pieces(self, model):
        with self.client.messages.create(model=model, max_tokens=1000, messages=self.messages, stream=True) as stream:
            yield from stream


class Chat:
    def __init__(self):
        import openai

        self.library = openai
        self.client = openai.OpenAI(max_retries=0)
        self.messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]
        self.tools = [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]

    def ask(self, stream, model="tools", extra=None, **more):
        request = dict(model=model, messages=self.messages, tools=self.tools, extra_headers=extra or {}, **more)
        if stream:
            with self.client.chat.completions.stream(**request, stream_options={"include_usage": True}) as events:
                for _ in events:
                    pass
                completion = events.get_final_completion()
        else:
            completion = self.client.chat.completions.create(**request)
        message = completion.choices[0].message
        calls = [(call.id, json.loads(call.function.arguments)) for call in message.tool_calls or []]
        self.messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        return message.content, calls, completion.usage.prompt_tokens

    def answer(self, calls):
        for call, arguments in calls:
            self.messages.append({"role": "tool", "tool_call_id": call, "content": result(arguments)})

    def pieces(self, model):
        with self.client.chat.completions.create(model=model, messages=self.messages, stream=True) as stream:
            yield from stream


class Responses:
    """Leaves its context at the provider: each request names the response before."""

    def __init__(self):
        import openai

        self.library = openai
        self.client = openai.OpenAI(max_retries=0)
        self.input = TASK
        self.previous = None
        self.tools = [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}]

    def ask(self, stream, model="tools", extra=None, **more):
        request = dict(model=model, instructions=SYSTEM, input=self.input, tools=self.tools, extra_headers=extra or {},
                       **more)
        if self.previous:
            request["previous_response_id"] = self.previous
        if stream:
            with self.client.responses.stream(**request) as events:
                for _ in events:
                    pass
                response = events.get_final_response()
        else:
            response = self.client.responses.create(**request)
        self.previous = response.id
        calls = [(item.call_id, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]
        return response.output_text, calls, response.usage.input_tokens

    def answer(self, calls):
        self.input = [{"type": "function_call_output", "call_id": call, "output": result(arguments)} for call, arguments in calls]

    def pieces(self, model):
        with self.client.responses.create(model=model, input=self.input, stream=True) as stream:
            yield from stream


APIS = {"anthropic": Anthropic, "chat": Chat, "responses": Responses}


def tools(agent, stream):
    """Two requests, with two calls in parallel in between."""
    text, calls, tokens = agent.ask(stream)
    agent.answer(calls)
    final, more, _ = agent.ask(stream)
    return {"text": text, "calls": calls, "tokens": tokens, "final": final, "more": more}


def named(agent, stream):
    """One request with the session's name in a header."""
    text, _, _ = agent.ask(stream, extra={"x-remembrancer-session": "archive-run-7", "x-remembrancer-agent": "archivist"})
    return {"text": text}


def grouped(agent, stream):
    """Two requests of one conversation, and one of another, under a name in the library's metadata."""
    api = next(api for api, kind in APIS.items() if isinstance(agent, kind))
    name = "run-%s-%s" % (api, "true" if stream else "false")
    metadata = {"user_id": json.dumps({"session_id": name})} if api == "anthropic" else {"session_id": name}
    other = type(agent)()
    agent.ask(stream, model="plain", metadata=metadata)
    if isinstance(agent, Responses):
        agent.input, other.input = "And shelf 9?", "Find a title."
    else:
        agent.messages.append({"role": "user", "content": "And shelf 9?"})
        other.messages[-1]["content"] = "Find a title."
    agent.ask(stream, model="plain", metadata=metadata)
    other.ask(stream, model="plain", metadata=metadata)
    return {"name": name}


def errors(agent, stream):
    told = []
    for status in (400, 401, 429, 500, 529):
        try:
            agent.ask(stream, model=f"error-{status}")
        except agent.library.APIStatusError as error:
            told.append([error.status_code, error.body, error.response.headers.get("x-kept")])
    return {"told": told}


def large(agent, stream):
    """A context of 20 MB."""
    if isinstance(agent, Responses):
        agent.input = "x" * 1000 + "é" * 10_000_000
    else:
        agent.messages[-1]["content"] = "x" * 1000 + "é" * 10_000_000
    text, _, _ = agent.ask(stream, model="plain")
    return {"text": text}


def dies(agent, _):
    """The provider's connection breaks in the middle of a stream."""
    count = 0
    try:
        for _ in agent.pieces("dies"):
            count += 1
    except Exception as error:
        return {"pieces": count, "error": type(error).__name__}
    return {"pieces": count, "error": None}


def leaves(agent, _):
    """The agent leaves in the middle of a stream."""
    count = 0
    for _ in agent.pieces("slow"):
        count += 1
        if count == 5:
            break
    return {"pieces": count}


def compacts(agent, stream):
    """A provider that compacts: the item that stands for the context before comes back in the next request."""
    first = agent.client.responses.create(model="compacts", instructions=SYSTEM, input=TASK)
    items = [item.model_dump(exclude_none=True) for item in first.output]
    items.append({"role": "user", "content": "Go on."})
    second = agent.client.responses.create(model="plain", instructions=SYSTEM, input=items)
    return {"first": [item.type for item in first.output], "text": second.output_text}


def main():
    scenario, api = sys.argv[1:3]
    stream = sys.argv[3:] == ["stream"]
    print(json.dumps(globals()[scenario](APIS[api](), stream)))


if __name__ == "__main__":
    main()
