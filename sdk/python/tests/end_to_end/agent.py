"""An agent that records runs with contexts that grow and are compacted; what it did is told to the test that started it.

Its one argument is JSON: url, key, spool, sessions, turns, pause (seconds between turns), expected (a file), close (seconds), and
`waits`: stay until standard input ends before closing; or `ends`: end without closing.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from remembrancer import Client, Limits, Part, RequestedCall, Session, Usage

RULE = "never move a ledger without a written order"


def run(session: Session, turns: int, pause: float) -> dict[int, list[list[str]]]:
    """Records a run, and returns its contexts: kind and text of every part."""
    session.intent("sort the shelves")
    session.constraint("limit", "prohibition", RULE)
    rules = [Part("system", f"You sort shelves. {RULE}.")]
    parts = [*rules, Part("user", "sort the shelves")]
    contexts: dict[int, list[list[str]]] = {}
    for number in range(1, turns + 1):
        turn = session.context(parts, tokens=number * 100)
        contexts[turn] = [[part.kind, part.text or ""] for part in parts]
        answer = f"{session.id} looks at shelf {number}"
        # Small ones go inline, large ones as blobs.
        result = f"{session.id} shelf {number}: " + "damp " * (number % 3 * 3000)
        call = f"c{number}"
        session.response([answer], calls=[RequestedCall(call, "look")], usage=Usage(100, 10))
        session.tool_called(call, "look", {"shelf": number})
        session.tool_returned(call, result, tool="look")
        parts = [*parts, Part("assistant", answer), Part("tool_result", result, call_id=call)]
        if number % 7 == 0:
            parts = [*rules, Part("summary", f"{number} shelves are sorted"), *parts[-2:]]
        time.sleep(pause)
    return contexts


def main() -> None:
    """Does what the argument says."""
    options: dict[str, Any] = json.loads(sys.argv[1])
    limits = Limits(retry_seconds_first=0.02, retry_seconds_max=0.2, **options.get("limits", {}))
    client = Client(options["url"], options["key"], spool=options["spool"], limits=limits)
    expected: dict[str, dict[int, list[list[str]]]] = {}
    for number in range(options["sessions"]):
        with client.session(f"{options.get('name', 'run')}-{number}") as session:
            expected[session.id] = run(session, options["turns"], options["pause"])
    Path(options["expected"]).write_text(json.dumps(expected))
    print("recorded", flush=True)
    if options.get("ends"):
        # Without a word to the client, which is to send what it has on its own.
        return
    if options.get("waits"):
        sys.stdin.read()
    is_sent = client.close(options["close"])
    print(json.dumps({"sent": is_sent, **asdict(client.stats())}), flush=True)


if __name__ == "__main__":
    main()
