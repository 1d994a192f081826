"""What calls from Python cost: seconds of each round, as one line of JSON."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples/l2hmc")]

import l2hmc  # noqa: E402
import weft  # noqa: E402

CALLS = 20_000  # of a round
TRACES = 10
CHAINS = 10


def seconds_each(call: Callable[[], object], calls: int,
                 rounds: int) -> list[float]:
    call()  # traces where there is something to trace
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        found.append((time.perf_counter() - start) / calls)
    return found


def traced_move(sampler: l2hmc.L2hmc) -> Callable[[], object]:
    """Each call traces anew: a staged function of its own, and the run of its
    first move."""
    x, key = weft.zeros((CHAINS, 2)), weft.tensor([1, 0])
    return lambda: weft.jit(sampler.move)(x, key, True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, required=True)
    rounds = parser.parse_args().rounds
    x = weft.ones((16,))
    twice = weft.jit(lambda a: a + a)
    nested = weft.jit(lambda tree, pair: tree["a"] + pair[1])
    tree, pair = {"a": x, "b": x}, (x, x)
    sampler = l2hmc.L2hmc()
    sampler.initialize(seed=1)
    print(json.dumps({
        "eager": seconds_each(lambda: x + x, CALLS, rounds),
        "staged": seconds_each(lambda: twice(x), CALLS, rounds),
        "nested": seconds_each(lambda: nested(tree, pair), CALLS, rounds),
        "trace": seconds_each(traced_move(sampler), TRACES, rounds)}))


if __name__ == "__main__":
    main()
