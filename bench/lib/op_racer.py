"""One side of the races of single ops: what the processes of all sides share.
They hold one op at a time, and answer `check NAME`, which makes it ready, and
`run NAME`. Protocol: bench/README.md."""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from lib.op_cases import Case, Input
from lib.op_table import CASES, LONG
from lib.serve import baseline, memory, serve, timed

COMPARED = 64  # numbers of each result
BLOCK_S = 0.015  # what the steps of a timed block take together
MOST_STEPS = 2000


_KINDS = {"f64": np.float64, "i64": np.int64, "i32": np.int32, "u8": np.uint8,
          "bool": np.bool_}


def arrays(case: Case) -> dict[str, np.ndarray]:
    """The same numbers for every side; f32 where NumPy has no such dtype, or is
    slow with it: the sides round them."""
    return {name: _array(given, number)
            for number, (name, given) in enumerate(case.inputs.items())}


def _array(given: Input, number: int) -> np.ndarray:
    random = np.random.Generator(np.random.PCG64(number))
    if not given.dtype.endswith(("f32", "f64", "f16")):
        return random.integers(int(given.low), int(given.high),
                               given.shape).astype(_KINDS[given.dtype])
    kind = _KINDS.get(given.dtype, np.float32)
    drawn = random.random(given.shape, dtype=kind)
    drawn *= kind(given.high - given.low)
    drawn += kind(given.low)
    return drawn


class Absent(Exception):
    """A side that has no kernel for a case; says why."""


class Engine(Protocol):
    """A side of the races."""

    def prepare(self, case: Case) -> Callable[[], object]:
        """What is timed; Absent where the side has no such op."""

    def results(self, case: Case, result: object) -> Sequence[np.ndarray]:
        """What a call gave, images as [batch, rows, columns, channels]."""


class Racer:
    def __init__(self, engine: Engine):
        self.engine, self.call, self.steps = engine, None, 1

    def check(self, case: Case) -> dict:
        self.call = None  # its tensors go before others come
        try:
            self.call = self.engine.prepare(case)
            result = self.call()
        except Absent as reason:
            return {"absent": str(reason)}
        except Exception as error:  # of one op of many
            return {"error": f"{type(error).__name__}: {error}"}
        values = [] if case.compared == "nothing" else [
            _sample(array) for array in self.engine.results(case, result)]
        del result
        self.steps = self._calibrated()
        return {"values": values}

    def _calibrated(self) -> int:
        start, calls = time.perf_counter(), 0
        while calls < 3 or time.perf_counter() - start < BLOCK_S / 3:
            self.call()
            calls += 1
            if time.perf_counter() - start > 4 * BLOCK_S:
                break
        each = (time.perf_counter() - start) / calls
        return max(1, min(MOST_STEPS, round(BLOCK_S / each)))

    def run(self, case: Case) -> dict:
        def block() -> int:
            for _ in range(self.steps):
                self.call()
            return self.steps
        return timed(block)


def _sample(array: np.ndarray) -> list[float]:
    """Numbers from all over the array, its first and last included."""
    flat = np.asarray(array).reshape(-1)
    places = np.linspace(0, flat.size - 1, min(COMPARED, flat.size))
    return [float(x) for x in flat[places.astype(np.int64)]]


def main(make: Callable[[int], Engine]) -> None:
    """`make` takes the number of threads."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, required=True)
    empty = baseline()
    racer = Racer(make(parser.parse_args().threads))
    handlers = {f"{verb} {case.name}": partial(getattr(racer, verb), case)
                for case in [*CASES.values(), *LONG.values()]
                for verb in ("check", "run")}
    serve({**handlers, "memory": lambda: memory(empty)})
