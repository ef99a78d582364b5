"""Measures what recording costs the agent's thread: `python tests/measure.py URL KEY`, against a running recorder.

Times are those that the thread itself was running: what else the machine does shows in them little. A run of 200 turns, each with
a call of 200 bytes and a result of 4,000, whose context is never compacted.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable

from remembrancer import Client, Part, RequestedCall, Usage

TURNS = 200


def main() -> None:
    """Records the run, and prints how long each call took."""
    taken: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[[], object]) -> None:
        began = time.thread_time()
        work()
        taken.setdefault(name, []).append(time.thread_time() - began)

    with tempfile.TemporaryDirectory() as spool, Client(sys.argv[1], sys.argv[2], spool=spool) as client:
        with client.session() as session:
            parts = [Part("system", "s" * 4000), Part("user", "sort the shelves")]
            began = time.perf_counter()
            for number in range(TURNS):
                timed("context", lambda listed=list(parts): session.context(listed))  # type: ignore[misc]
                call, answer, result = f"c{number}", f"look at {number}", f"{number} " + "damp " * 800
                timed("response", lambda: session.response(answer, calls=[RequestedCall(call, "look")], usage=Usage(9, 9)))  # noqa: B023
                timed("tool_called", lambda: session.tool_called(call, "look", {"shelf": "x" * 200}))  # noqa: B023
                timed("tool_returned", lambda: session.tool_returned(call, result))  # noqa: B023
                parts += [Part("assistant", answer), Part("tool_result", result, call_id=call)]
            recorded = time.perf_counter() - began
        client.flush(60)
        answered = time.perf_counter() - began
        print(
            f"{TURNS} turns, the last context has {len(parts)} parts; recorded in {recorded:.2f} s, answered in {answered:.2f} s"
        )
        for name, times in taken.items():
            tail = statistics.quantiles(times, n=100)[98]
            print(f"{name:14} median {statistics.median(times) * 1e6:6.0f} µs   p99 {tail * 1e6:6.0f} µs")
        print(client.stats())


if __name__ == "__main__":
    main()
