"""The bars of the MultiQueue: throughput beside other queues, and how far it
is from exact."""

from dataclasses import dataclass
from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.measure import largest_gap, race
from lib.picture import chart
from lib.suite import answer, draw, marked
from lib.worker import Worker, WorkerError

RESIDENT = 1_000_000
STEPS = 500_000  # pops and pushes of a timed block

QUEUES = (4, 8, 16, 32, 64)
RANK_RESIDENT = 100_000
RANK_STEPS = 10_000_000
READY_GRAPHS = ("forks", "layers", "chain")
READY_WORK_NS = (200, 2000)
READY_TASKS = 40_000
# The drift of one choice shows only while enough entries are left to drift
# among.
DRIFT_QUEUES = 8


@dataclass(frozen=True)
class Rival:
    key: str  # as weft-concurrent-bench knows it
    name: str
    threads: int
    bar: float

    @property
    def row(self) -> str:
        threads = f"{self.threads} thread" + "s" * (self.threads > 1)
        return (f"MultiQueue, {threads}, {RESIDENT:.0e} entries, against "
                f"{self.name}").replace("e+0", "e")


RIVALS = (
    Rival("heap-mutex", "a heap behind std::mutex", 2, 2.0),
    Rival("heap-spin-lock", "a heap behind a spin lock", 2, 2.0),
    Rival("tbb", "tbb::concurrent_priority_queue", 2, 2.0),
    Rival("standard", "std::priority_queue", 1, 1 / 1.3),
)


def benches(where: Setting) -> list[Bench]:
    return ([race_bench(where, rival) for rival in RIVALS]
            + [rank_bench(where), drift_bench(where)]
            + [ready_bench(where, graph, work_ns) for graph in READY_GRAPHS
               for work_ns in READY_WORK_NS])


# --- Throughput --------------------------------------------------------------

def race_bench(where: Setting, rival: Rival) -> Bench:
    bars = (Bar(rival.row, "steps/s", rival.bar),)
    return Bench(bars, partial(race_queues, where, rival))


def hold(where: Setting, queue: str, threads: int) -> Worker:
    return Worker([where.concurrent_worker, "hold", queue, "--threads", threads,
                   "--resident", RESIDENT, "--steps", STEPS], threads)


def race_queues(where: Setting, rival: Rival) -> dict:
    with hold(where, "multiqueue", rival.threads) as ours, \
            hold(where, rival.key, rival.threads) as peer:
        if largest_gap(ours.ask("check")["values"],
                       peer.ask("check")["values"]) > 0:
            raise WorkerError("the queues return different entries")
        raced = race(ours, peer, 3 if where.quick else where.pairs)
    return {rival.row: {
        "ours": raced.ours, "peer": raced.peer, "peer_name": rival.key,
        "ratio": raced.ratio, "low": raced.low, "high": raced.high,
        "note": marked(where, "hold model; a step is a pop and a push, 16 + 16 "
                       "bytes; 4 queues a thread, stickiness 16")}}


# --- Ranks -------------------------------------------------------------------

def ranks(where: Setting, queues: int, choices: int = 2, stickiness: int = 1,
          steps: int = RANK_STEPS // 10) -> dict:
    return answer([where.concurrent_worker, "ranks", "--queues", queues,
                   "--stickiness", stickiness, "--choices", choices,
                   "--resident", RANK_RESIDENT, "--steps", steps])


def rank_bench(where: Setting) -> Bench:
    bars = (Bar("MultiQueue, mean rank / queues, 8 to 64 queues: least",
                "", 0.5),
            Bar("MultiQueue, mean rank / queues, 4 to 64 queues: largest",
                "", 1.2, at_most=True))
    return Bench(bars, partial(measure_ranks, where, bars))


def measure_ranks(where: Setting, bars: tuple[Bar, ...]) -> dict:
    fresh = {q: ranks(where, q) for q in QUEUES}
    draw(where, "multiqueue-ranks", chart(
        "Rank error of the MultiQueue (one thread)", "queues", "rank",
        {"mean": [(q, r["mean"]) for q, r in fresh.items()],
         "99 %": [(q, r["p99"]) for q, r in fresh.items()],
         **{f"mean, stickiness {s}":
            [(q, ranks(where, q, stickiness=s)["mean"]) for q in QUEUES]
            for s in (16, 64)}}, log_x=True, log_y=True))
    shares = {q: r["mean"] / q for q, r in fresh.items()}
    note = "mean / 99 %: " + ", ".join(
        f"{q} queues {r['mean']:.1f} / {r['p99']}" for q, r in fresh.items())
    values = (min(share for q, share in shares.items() if q >= 8),
              max(shares.values()))
    return {bar.name: {"ours": value, "ratio": value, "note": note}
            for bar, value in zip(bars, values)}


def drift_bench(where: Setting) -> Bench:
    steps = RANK_STEPS // 10 if where.quick else RANK_STEPS
    bars = (Bar(f"MultiQueue, mean rank over {steps:,} steps: last tenth / "
                "first", "", 1.1, at_most=True),
            Bar("queue with one choice, mean rank: last tenth / first", "",
                1.5))
    return Bench(bars, partial(measure_drift, where, steps, bars))


def measure_drift(where: Setting, steps: int, bars: tuple[Bar, ...]) -> dict:
    over_time = {choices: ranks(where, DRIFT_QUEUES, choices, steps=steps)
                 ["over_time"] for choices in (2, 1)}
    draw(where, "multiqueue-drift", chart(
        f"Mean rank over time, {DRIFT_QUEUES} queues", "million steps", "rank",
        {name: [((i + 0.5) * steps / 10e6, mean)
                for i, mean in enumerate(over_time[choices])]
         for name, choices in (("two choices", 2), ("one choice", 1))},
        log_y=True))
    rows = {}
    for bar, choices in zip(bars, (2, 1)):
        means = over_time[choices]
        ratio = means[-1] / means[0]
        rows[bar.name] = {
            "ours": means[-1], "ratio": ratio,
            "note": f"{DRIFT_QUEUES} queues, mean rank {means[0]:.1f} at first"}
    return rows


# --- The executor's ready queue ----------------------------------------------

def ready_bench(where: Setting, graph: str, work_ns: int) -> Bench:
    bar = Bar(f"ready queue, {graph}, {work_ns} ns a task: MultiQueue by "
              "critical path, against stealing", "tasks/s", None)
    return Bench((bar,), partial(race_ready, where, graph, work_ns, bar))


def race_ready(where: Setting, graph: str, work_ns: int, bar: Bar) -> dict:
    def side(queue: str) -> Worker:
        return Worker([where.concurrent_worker, "ready-queue", queue,
                       "--graph", graph, "--tasks", READY_TASKS, "--work",
                       work_ns, "--threads", 2], threads=2)
    with side("critical-path") as ours, side("stealing") as peer:
        raced = race(ours, peer, 3 if where.quick else where.pairs)
    return {bar.name: {
        "ours": raced.ours, "peer": raced.peer, "peer_name": "stealing",
        "ratio": raced.ratio, "low": raced.low, "high": raced.high,
        "note": marked(where, "which one the tagged executor "
                       "had better use; 2 threads")}}
