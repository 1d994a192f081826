"""The bars of the MultiCounter: how wrong its reads are, and for how long."""

from functools import partial
from math import log2

from lib.bench import Bar, Bench, Setting
from lib.picture import chart
from lib.suite import answer, draw, marked

CELLS = 64
INCREMENTS = 1_000_000_000
CONTROL_INCREMENTS = 100_000_000
THREADS = 8
PHASES = 20


def benches(where: Setting) -> list[Bench]:
    bars = (Bar("MultiCounter, largest read error / cells", "", 12,
                at_most=True),
            Bar("MultiCounter, largest gap between cells", "",
                4 * log2(CELLS) + 8, at_most=True),
            Bar("MultiCounter, mean read error: second half / first", "", 1.2,
                at_most=True),
            Bar("counter with one choice, mean read error: second half / "
                "first", "", 1.3))
    return [Bench(bars, partial(measure, where, bars))]


def run(where: Setting, choices: int, increments: int) -> list[dict]:
    """The sum is checked after each phase by the program itself."""
    return answer([where.concurrent_worker, "counter", "--choices", choices,
                   "--cells", CELLS, "--threads", THREADS, "--increments",
                   increments, "--phases", PHASES])["phases"]


def growth(phases: list[dict]) -> float:
    half = len(phases) // 2
    return (sum(p["mean"] for p in phases[half:])
            / sum(p["mean"] for p in phases[:half]))


def measure(where: Setting, bars: tuple[Bar, ...]) -> dict:
    increments = INCREMENTS // 10 if where.quick else INCREMENTS
    two = run(where, 2, increments)
    one = run(where, 1, CONTROL_INCREMENTS)
    draw(where, "multicounter-error", chart(
        f"Read error of a MultiCounter of {CELLS} cells", "increments",
        "error / cells",
        {"two choices, largest": [(p["count"], p["most"]) for p in two],
         "two choices, mean": [(p["count"], p["mean"]) for p in two],
         "one choice, mean": [(p["count"], p["mean"]) for p in one]},
        log_x=True, log_y=True))
    note = marked(where, f"{increments:,} increments by {THREADS} threads, "
                  f"{CELLS} cells; sums exact")
    values = (max(p["most"] for p in two), max(p["gap"] for p in two),
              growth(two), growth(one))
    return {bar.name: {"ours": value, "ratio": value, "note": note}
            for bar, value in zip(bars, values)}
