"""What IEEE's special values cost: the vector functions that keep NaN and
infinities, over the same without what that takes. In the first-level cache,
where nothing hides the price."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.measure import largest_gap, race
from lib.worker import Worker, WorkerError

SIZE = 2048
STEPS = {"exp": 40_000, "log": 40_000, "sigmoid": 30_000, "softmax": 20_000,
         "argmax": 60_000}  # in one timed block
GAP = 1e-6  # of results, relative: no special value is among the operands


def benches(where: Setting) -> list[Bench]:
    return [price_bench(where, function) for function in STEPS]


def price_bench(where: Setting, function: str) -> Bench:
    bar = Bar(f"{function}, f32: with IEEE's special values over without",
              "elements/s", None)
    return Bench((bar,), partial(race_price, where, function, bar))


def race_price(where: Setting, function: str, bar: Bar) -> dict:
    def side(form: str) -> Worker:
        return Worker([where.worker, "special-values", form, "--size", SIZE,
                       "--steps", STEPS[function], "--threads", 1], 1)

    with side(f"{function}-plain") as plain, side(function) as kept:
        gap = largest_gap(*(each.ask("check")["values"]
                            for each in (kept, plain)))
        if not gap <= GAP:
            raise WorkerError(f"the answers differ by {gap:.1e}")
        result = race(plain, kept, where.pairs)
    return {bar.name: {"ours": result.ours, "peer": result.peer,
                       "peer_name": "special values", "ratio": result.ratio,
                       "low": result.low, "high": result.high}}
