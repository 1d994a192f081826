"""The worker's side of the protocol: one request a line, one JSON line back."""

import json
import os
import sys
import time
from collections.abc import Callable

from lib.process import peak_rss_bytes, rss_bytes


def serve(handlers: dict[str, Callable[[], dict]]) -> None:
    """Answers requests until `quit` or the end of the input.

    Whatever else the process prints goes to standard error, so that a
    library's chatter cannot be taken for an answer.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = line.strip()
        if request == "quit":
            return
        handler = handlers.get(request)
        answer = handler() if handler else {"error": f"no request {request!r}"}
        print(json.dumps(answer), file=answers, flush=True)


def timed(block: Callable[[], int]) -> dict:
    """Runs one block; it returns how many items of work it did."""
    start = time.perf_counter()
    work = block()
    return {"seconds": time.perf_counter() - start, "work": work}


def memory(baseline_bytes: int) -> dict:
    return {"peak_rss_bytes": peak_rss_bytes(),
            "baseline_rss_bytes": baseline_bytes}


def baseline() -> int:
    """Resident bytes once the libraries are loaded, before any work."""
    return rss_bytes()
