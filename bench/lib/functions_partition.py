"""Rows of the suite `functions` about graphs in parts on several ranks."""

from functools import partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

SIZES = (4, 4_000, 400_000)  # bytes; above 4,096 a value is a second message
STEPS = 2_000  # round trips in one timed block
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2")
LAUNCHERS = {"thread": (), "mpi": MPIRUN}


def benches(where: Setting) -> list[Bench]:
    return [crossing_bench(where, transport) for transport in LAUNCHERS]


def crossing_bench(where: Setting, transport: str) -> Bench:
    """Figures: nothing is known that they could be held against."""
    bars = {size: Bar(f"parts, {transport}: a crossing of {size:,} B", "us", None)
            for size in SIZES}
    return Bench(tuple(bars.values()),
                 partial(measure_crossings, where, transport, bars))


def measure_crossings(where: Setting, transport: str, bars: dict) -> dict:
    steps = STEPS // 10 if where.quick else STEPS
    rows = {}
    for size, bar in bars.items():
        command = [*LAUNCHERS[transport], where.worker, "crossings",
                   "--threads", 1, "--bytes", size, "--steps", steps]
        found = answer(command)
        figures = [1e6 * seconds for seconds in found["crossing"]]
        alone = 1e6 * median(found["alone"])
        note = f"{alone:.2f} us of it without crossing; the rank " \
               "that computes the condition sends it along"
        rows[bar.name] = {
            "ours": median(figures), "ratio": median(figures),
            "low": min(figures), "high": max(figures),
            "note": marked(where, note)}
    return rows
