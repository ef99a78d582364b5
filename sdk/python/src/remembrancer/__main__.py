"""`python -m remembrancer` records one session and says whether the recorder took it: for setting an agent up."""

from __future__ import annotations

import logging
import sys

from .client import Client

#: Longest that the check waits for an answer.
_SECONDS = 10.0


def main(client: Client | None = None) -> int:
    """Prints what came of it. 0: recorded; 1: the recorder did not take it; 2: there is nowhere to record to."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    client = client or Client(agent="remembrancer-check")
    if not client.is_recording:
        return 2
    with client.session(label="check of the set-up") as session:
        pass
    is_answered = client.flush(_SECONDS)
    stats = client.stats()
    client.close(0)
    if is_answered and stats.rejected == 0:
        print(f"recorded: session {session.id}, {stats.recorded} events; {stats.adopted} more from earlier processes")
        return 0
    print(f"not recorded: {stats.trouble or 'the recorder rejected it'}; what was not sent waits in the spool")
    return 1


if __name__ == "__main__":
    sys.exit(main())
