"""Stands for the APIs of models, on loopback: Anthropic Messages, OpenAI Chat Completions and OpenAI Responses.

The model's name says how it behaves. Prints its address, then serves until its standard input ends.
"""

import hashlib
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CALLS = [("call_a", "read", {"shelf": 7}), ("call_b", "read", {"shelf": 8})]
PIECES = ["Both ", "shelves ", "are ", "damp."]

observed = {"requests": [], "cancelled": 0, "pieces_sent": 0}
lock = threading.Lock()


def anthropic(body):
    """Whole answer, and the events of its stream."""
    has_results = any(
        isinstance(block, dict) and block.get("type") == "tool_result"
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    )
    wants_tools = body["model"] == "tools" and not has_results
    base = {"id": "msg_%d" % len(observed["requests"]), "type": "message", "role": "assistant", "model": body["model"]}
    usage = {"input_tokens": 20, "output_tokens": 9, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 3}
    content = [{"type": "text", "text": "".join(PIECES)}]
    if wants_tools:
        content += [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in CALLS]
    stop = "tool_use" if wants_tools else "end_turn"
    whole = {**base, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}
    if has_results:
        whole["context_management"] = {"applied_edits": [
            {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1, "cleared_input_tokens": 50}]}
    events = [("message_start", {"message": {**base, "content": [], "stop_reason": None, "stop_sequence": None,
                                             "usage": {**usage, "output_tokens": 1}}})]
    for index, block in enumerate(content):
        if block["type"] == "text":
            events.append(("content_block_start", {"index": index, "content_block": {"type": "text", "text": ""}}))
            for piece in PIECES:
                events.append(("content_block_delta", {"index": index, "delta": {"type": "text_delta", "text": piece}}))
        else:
            events.append(("content_block_start", {"index": index, "content_block": {**block, "input": {}}}))
            for piece in halves(json.dumps(block["input"])):
                events.append(("content_block_delta", {"index": index, "delta": {"type": "input_json_delta", "partial_json": piece}}))
        events.append(("content_block_stop", {"index": index}))
    delta = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 9}}
    if "context_management" in whole:
        delta["context_management"] = whole["context_management"]
    events += [("message_delta", delta), ("message_stop", {})]
    return whole, [f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events]


def chat(body):
    has_results = any(message["role"] == "tool" for message in body["messages"])
    wants_tools = body["model"] == "tools" and not has_results
    base = {"id": "chatcmpl-%d" % len(observed["requests"]), "created": 1, "model": body["model"]}
    usage = {"prompt_tokens": 123, "completion_tokens": 9, "total_tokens": 132, "prompt_tokens_details": {"cached_tokens": 100}}
    calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for i, n, a in CALLS]
    message = {"role": "assistant", "content": "".join(PIECES)}
    if wants_tools:
        message["tool_calls"] = calls
    finish = "tool_calls" if wants_tools else "stop"
    whole = {**base, "object": "chat.completion", "usage": usage,
             "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}]}
    deltas = [{"role": "assistant", "content": ""}] + [{"content": piece} for piece in PIECES]
    if wants_tools:
        for index, call in enumerate(calls):
            deltas.append({"tool_calls": [{"index": index, **call, "function": {"name": "read", "arguments": ""}}]})
        # The pieces of parallel calls come mixed.
        for half in (0, 1):
            for index, call in enumerate(calls):
                piece = halves(call["function"]["arguments"])[half]
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    chunks.append({"choices": [], "usage": usage})
    lines = [f"data: {json.dumps({**base, 'object': 'chat.completion.chunk', **chunk})}\n\n" for chunk in chunks]
    return whole, lines + ["data: [DONE]\n\n"]


def responses(body):
    items = body["input"] if isinstance(body["input"], list) else []
    has_results = any(item.get("type") == "function_call_output" for item in items)
    wants_tools = body["model"] == "tools" and not has_results
    identity = "resp_%d" % len(observed["requests"])
    output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
               "content": [{"type": "output_text", "text": "".join(PIECES), "annotations": []}]}]
    if wants_tools:
        output += [{"type": "function_call", "id": "fc_" + i, "call_id": i, "name": n, "arguments": json.dumps(a),
                    "status": "completed"} for i, n, a in CALLS]
    if body["model"] == "compacts":
        output.insert(0, {"type": "compaction", "id": "cmp_1", "encrypted_content": "opaque bytes"})
    base = {"id": identity, "object": "response", "created_at": 1, "model": body["model"], "parallel_tool_calls": True,
            "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
            "temperature": 1.0, "top_p": 1.0}
    usage = {"input_tokens": 123, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 9,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 132}
    whole = {**base, "status": "completed", "output": output, "usage": usage}
    events = [("response.created", {"response": {**base, "status": "in_progress", "output": []}})]
    for index, item in enumerate(output):
        events.append(("response.output_item.added", {"output_index": index, "item": {**item, "status": "in_progress"}}))
        if item["type"] == "message":
            events.append(("response.content_part.added", {"output_index": index, "content_index": 0, "item_id": item["id"],
                                                           "part": {"type": "output_text", "text": "", "annotations": []}}))
            for piece in PIECES:
                events.append(("response.output_text.delta", {"output_index": index, "content_index": 0, "item_id": item["id"],
                                                              "delta": piece, "logprobs": []}))
        events.append(("response.output_item.done", {"output_index": index, "item": item}))
    events.append(("response.completed", {"response": whole}))
    lines = []
    for number, (name, data) in enumerate(events):
        lines.append(f"event: {name}\ndata: {json.dumps({'type': name, 'sequence_number': number, **data})}\n\n")
    return whole, lines


def halves(text):
    return text[: len(text) // 2], text[len(text) // 2 :]


APIS = {"/v1/messages": anthropic, "/v1/chat/completions": chat, "/v1/responses": responses}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        with lock:
            self.whole(200, observed)

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        with lock:
            observed["requests"].append({
                "path": self.path,
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "bytes": len(raw),
                "sha256": hashlib.sha256(raw).hexdigest(),
            })
        model = body["model"]
        if model.startswith("error-"):
            fault = {"type": "overloaded_error", "message": "with key " + str(self.headers.get("x-api-key"))}
            return self.whole(int(model[6:]), {"type": "error", "error": fault}, {"retry-after-ms": "1", "x-kept": "yes"})
        whole, events = APIS[self.path.split("?")[0]](body)
        if not body.get("stream"):
            return self.whole(200, whole)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.stream(model, events)

    def stream(self, model, events):
        if model == "slow":
            # So many that only a client that leaves ends it.
            events = events[:1] + events[2:4] * 500
        for number, event in enumerate(events):
            if model == "dies" and number == len(events) // 2:
                # Without the last chunk: the connection breaks in the middle.
                self.close_connection = True
                self.connection.close()
                return
            data = event.encode()
            try:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()
            except OSError:
                with lock:
                    observed["cancelled"] += 1
                self.close_connection = True
                return
            with lock:
                observed["pieces_sent"] += 1
            if model in ("slow", "paced"):
                time.sleep(0.02)
        self.wfile.write(b"0\r\n\r\n")

    def whole(self, status, value, headers=None):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
