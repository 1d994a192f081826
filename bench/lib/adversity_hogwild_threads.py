"""Lock-free SGD by real threads: what threads that do not wait gain on sparse and
on dense examples (`weft sgd`)."""

import math
from functools import partial
from pathlib import Path
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.sparse_rows import by_root, by_zipf, write_rows
from lib.suite import answer, marked

FEATURES = 1_000_000
THREADS = 2
TARGET = 0.2  # loss, from log 2
# Each side takes the best of these.
PEER_RATES = (0.5, 1, 2, 4, 8)
# How popular features are: threads meet the more often the more so the first.
POPULARITY = {"sparse": by_root, "words": by_zipf}

PEER = Bar("sparse logistic regression: time to a loss of 0.2", "seconds", 1.0)
DENSE = Bar("dense logistic regression: Hogwild, 2 threads over 1", "times",
            None)


def sparse_rows(where: Setting, name: str) -> Path:
    rows = 20_000 if where.quick else 100_000
    popularity = POPULARITY[name]
    return write_rows(
        where.build / f"bench/sgd-{popularity.__name__}-{rows}.txt", rows,
        FEATURES, popularity)


def dense_rows(where: Setting) -> Path:
    rows = 500 if where.quick else 4_000
    return write_rows(where.build / f"bench/sgd-dense-{rows}.txt", rows, 1000,
                      None)


def train(where: Setting, data: Path, variant: str, threads: int, epochs: int,
          rate: float = 2, trace: int = 0) -> dict:
    return answer([where.root / "bin/weft", "sgd", data, "--json", "--variant",
                   variant, "--threads", threads, "--epochs", epochs, "--rate",
                   rate, "--trace", trace])


def speed(run: dict) -> float:
    """Iterations per second, over all epochs but the first, whose memory is
    cold."""
    first, last = run["epochs"][0], run["epochs"][-1]
    return (sum(epoch["iterations"] for epoch in run["epochs"][1:])
            / (last["seconds"] - first["seconds"]))


def race(where: Setting, data: Path, ways: dict) -> dict[str, list[float]]:
    """Speeds of the ways (variant, threads), which take turns."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(3 if where.quick else where.pairs):
        for name, (variant, threads) in ways.items():
            found[name].append(speed(train(where, data, variant, threads, 6)))
    return found


def compared(over: list[float], under: list[float]) -> dict:
    ratios = sorted(a / b for a, b in zip(over, under))
    return {"ratio": median(ratios), "low": ratios[0], "high": ratios[-1]}


def threads_bench(where: Setting, name: str) -> Bench:
    what = f"{name} logistic regression" if name == "sparse" else (
        "logistic regression of words")
    hogwild_bar = Bar(f"{what}: Hogwild, 2 threads over 1", "times", 1.6)
    atomic_bar = Bar(f"{what}: atomic's time over Hogwild's", "times", 1.3,
                     at_most=True)
    locked_bar = Bar(f"{what}: locked, 2 threads over 1", "times", 1.0,
                     at_most=True)
    delay_bar = Bar(f"{what}: tau_avg of 2 threads", "iterations", 2 * THREADS,
                    at_most=True)

    def measure() -> dict:
        data = sparse_rows(where, name)
        speeds = race(where, data, {
            "alone": ("sequential", 1), "hogwild": ("hogwild", THREADS),
            "atomic": ("atomic", THREADS), "locked": ("locked", THREADS)})
        alone, hogwild = speeds["alone"], speeds["hogwild"]
        note = marked(where, f"{data.name}, f32; iterations/s: " + ", ".join(
            f"{way} {median(rates):,.0f}" for way, rates in speeds.items()))
        delays = train(where, data, "hogwild", THREADS, 1, trace=1_000_000)
        return {
            hogwild_bar.name: compared(hogwild, alone) | {
                "ours": median(hogwild), "peer": median(alone),
                "peer_name": "sequential", "note": note},
            atomic_bar.name: compared(hogwild, speeds["atomic"]) | {
                "ours": median(speeds["atomic"]), "peer": median(hogwild),
                "peer_name": "hogwild", "note": note},
            locked_bar.name: compared(speeds["locked"], alone) | {
                "ours": median(speeds["locked"]), "peer": median(alone),
                "peer_name": "sequential", "note": note},
            delay_bar.name: {
                "ours": delays["tau_avg"], "ratio": delays["tau_avg"],
                "note": marked(where, f"of {delays['traced']:,} iterations; "
                               f"tau_max {delays['tau_max']:,}")}}

    return Bench((hogwild_bar, atomic_bar, locked_bar, delay_bar), measure)


def seconds_to(run: dict, target: float) -> float:
    return next((epoch["seconds"] for epoch in run["epochs"]
                 if epoch["loss"] <= target), math.inf)


def against_sklearn(where: Setting) -> dict:
    data = sparse_rows(where, "sparse")
    ours = min(((seconds_to(train(where, data, "hogwild", THREADS, 12, rate),
                            TARGET), rate) for rate in PEER_RATES))
    peer = answer([where.peers.python,
                   where.root / "bench/peers/sklearn_sgd.py", data, "--target",
                   TARGET, "--rates", *PEER_RATES])
    return {PEER.name: {
        "ours": ours[0], "peer": peer["seconds"], "peer_name": "scikit-learn",
        "ratio": peer["seconds"] / ours[0],
        "note": marked(where, f"{data.name}: rates of {ours[1]:g} and "
                       f"{peer['rate']:g}, the best of {PEER_RATES}; theirs "
                       f"comes to {peer['loss']:.4f} in {peer['epochs']} "
                       "passes; ours on 2 threads, theirs has one")}}


def dense_race(where: Setting) -> dict:
    data = dense_rows(where)
    speeds = race(where, data, {"alone": ("sequential", 1),
                                "hogwild": ("hogwild", THREADS)})
    return {DENSE.name: compared(speeds["hogwild"], speeds["alone"]) | {
        "ours": median(speeds["hogwild"]), "peer": median(speeds["alone"]),
        "peer_name": "sequential",
        "note": marked(where, f"{data.name}: 1,000 entries, which both "
                       "threads write in every iteration")}}


def benches(where: Setting) -> list[Bench]:
    return [*(threads_bench(where, name) for name in POPULARITY),
            Bench((PEER,), partial(against_sklearn, where)),
            Bench((DENSE,), partial(dense_race, where))]
