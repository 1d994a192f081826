"""What attention and its gradients add to the memory of a process, by length: it
must grow with the length, not with its square."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.kernels_ops import side
from lib.op_table import LENGTHS, LONG

MIB = 2**20
GROWTH = Bar(f"attention and its gradients, memory of {LENGTHS[-1]:,} over "
             f"{LENGTHS[0]:,}", "times", 1.1 * LENGTHS[-1] / LENGTHS[0],
             at_most=True)


def benches(where: Setting) -> list[Bench]:
    bars = {length: Bar(f"attention and its gradients, memory of {length:,}",
                        "MiB", None) for length in LENGTHS}
    return [Bench((*bars.values(), GROWTH), partial(measure, where, bars))]


def measure(where: Setting, bars: dict[int, Bar]) -> dict:
    ours = {length: added(where, "weft", length) for length in LENGTHS}
    theirs = {length: added(where, "torch", length) for length in LENGTHS}
    times = ours[LENGTHS[-1]] / ours[LENGTHS[0]]
    rows = {bar.name: {"ours": ours[length] / MIB, "peer": theirs[length] / MIB,
                       "peer_name": "PyTorch",
                       "ratio": theirs[length] / ours[length]}
            for length, bar in bars.items()}
    return {**rows, GROWTH.name: {"ours": times, "ratio": times}}


def added(where: Setting, name: str, length: int) -> int:
    """The bytes that a process needs more to do this and nothing else."""
    with side(where, name) as worker:
        worker.ask(f"check {LONG[length].name}")
        memory = worker.ask("memory")
    return memory["peak_rss_bytes"] - memory["baseline_rss_bytes"]
