"""What it takes to make the graph of a training step ready to run, on one core:
simplification, fusion, memory and the preparation of every kernel."""

from functools import partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.suite import answer

NETWORKS = {"densenet121": "DenseNet-121", "resnet50": "ResNet-50",
            "transformer": "12-layer Transformer"}
REPETITIONS = 3


def benches(where: Setting) -> list[Bench]:
    return [bench(where, network) for network in NETWORKS]


def bench(where: Setting, network: str) -> Bench:
    start = f"planning, {NETWORKS[network]}"
    bars = (Bar(f"{start}: seconds", "s", 2.0, at_most=True),
            Bar(f"{start}: twice the layers", "times", 2.3, at_most=True))
    return Bench(bars, partial(measure, where, network, bars))


def measure(where: Setting, network: str, bars: tuple) -> dict:
    runs = {depth: [plan(where, network, depth) for _ in range(REPETITIONS)]
            for depth in (1, 2)}
    once, twice = ([run["seconds"] for run in runs[depth]] for depth in (1, 2))
    times = [b / a for a, b in zip(once, twice)]
    return {bars[0].name: {
                "ours": median(once), "ratio": median(once),
                "low": min(once), "high": max(once),
                "note": remark(runs[1][0])},
            bars[1].name: {
                "ours": median(times), "ratio": median(times),
                "low": min(times), "high": max(times),
                "note": f"{median(twice):.2f} s; {remark(runs[2][0])}"}}


def plan(where: Setting, network: str, depth: int) -> dict:
    return answer([where.worker, "planning", network, "--depth", depth,
                   "--threads", 1])


def remark(run: dict) -> str:
    return (f"{run['nodes']:,} nodes, {run['steps']:,} steps; the graph, its "
            f"gradients and Adam's memory took {run['staging_seconds']:.2f} s "
            "before")
