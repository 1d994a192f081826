"""Functions, control flow, recursion by tagging, and staging."""

from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.measure import largest_gap, race, rate
from lib.suite import answer, benches_of
from lib.worker import Worker, WorkerError

FIB_VALUE, FIB_ACTIVATIONS, FIB_DEPTH = 75_025, 150_049, 25
DEPTH = 1_000_000
BATCH = 25
LOSS_GAP = 1e-4  # of the first five losses, relative
# Tai, Socher and Manning (2015), table 2: constituency tree LSTM, fine-grained,
# words that start from random numbers, 300 wide.
PUBLISHED, ALLOWED = 0.439, 0.015


def benches(where: Setting) -> list[Bench]:
    recursion = Recursion(where)
    name = f"tree LSTM training, b{BATCH}"
    return [tree_bench(where, BATCH), tree_bench(where, 1),
            torch_bench(where, "recursion", name, 10.0,
                        "eager recursion, leaves at once"),
            torch_bench(where, "levels", f"{name}, against levels at once", 1.0,
                        "eager, all nodes of one height at once"),
            accuracy_bench(where), recursion.bench(), staging_bench(where),
            cache_bench(where), *benches_of("functions_", where)]


def spread(figures: list[float]) -> dict:
    """A row of our own figures."""
    return {"ours": median(figures), "ratio": median(figures),
            "low": min(figures), "high": max(figures)}


# --- Trees -------------------------------------------------------------------

RECIPE = "as the recipe trains, weight decay included, but for dropout"
TRIED_BLOCKS = 2


def tree_options(where: Setting, batch: int, steps: int, threads: int) -> list:
    weights = where.build / "bench" / f"tree-lstm-{batch}.safetensors"
    weights.parent.mkdir(parents=True, exist_ok=True)
    return ["--batch", batch, "--steps", steps, "--threads", threads,
            "--data", where.data_folder("sst"), "--weights", weights]


def race_trees(where: Setting, batch: int, steps: int, program: list,
               peer_name: str, note: str) -> dict:
    """Ours first: it writes the weights that a peer reads. The peer has the
    number of threads that suits it."""
    def side(program: list, threads: int) -> Worker:
        return Worker([*program, *tree_options(where, batch, steps, threads)],
                      threads)

    with side([where.worker, "trees", "batched"], where.threads) as ours:
        first = ours.ask("check")["losses"]
        rates = {}
        for threads in sorted({1, where.threads}):
            with side(program, threads) as peer:
                gap = largest_gap(first, peer.ask("check")["losses"])
                if not gap <= LOSS_GAP:
                    raise WorkerError(f"the first losses differ by {gap:.1e}")
                rates[threads] = max(rate(peer) for _ in range(TRIED_BLOCKS))
        best = max(rates, key=rates.get)
        with side(program, best) as peer:
            peer.ask("check")
            result = race(ours, peer, where.pairs)
    return {"ours": result.ours, "peer": result.peer, "peer_name": peer_name,
            "ratio": result.ratio, "low": result.low, "high": result.high,
            "note": f"{note}; {RECIPE}; the peer by {best} of {max(rates)} "
            f"threads; first losses differ by at most {gap:.1e}"}


def tree_bench(where: Setting, batch: int) -> Bench:
    """Recursion by tags against the same cell in loops over a node table."""
    bar = Bar(f"tree LSTM training, b{batch}: tagged / loop", "trees/s",
              5.0 if batch > 1 else 1.5)

    def measure() -> dict:
        return {bar.name: race_trees(
            where, batch, 2 if batch > 1 else 40,
            [where.worker, "trees", "loop"], "while loop",
            "a node at a time, tables as values")}

    return Bench((bar,), measure)


def torch_bench(where: Setting, form: str, name: str, least: float,
                note: str) -> Bench:
    bar = Bar(name, "trees/s", least)

    def measure() -> dict:
        program = [where.peers.python,
                   where.root / "bench/peers/torch_trees.py", form]
        return {bar.name: race_trees(where, BATCH, 8, program,
                                     where.peers.torch_name, note)}

    return Bench((bar,), measure)


def accuracy_bench(where: Setting) -> Bench:
    bar = Bar("SST fine-grained, tree LSTM", "share", PUBLISHED - ALLOWED)

    def measure() -> dict:
        command = [where.root / "bin/weft", "train",
                   where.root / "recipes/sst-treelstm.toml", "--json",
                   "--data", where.data_folder("sst").parent,
                   "--set", f"log.folder={where.build / 'bench/sst-treelstm'}"]
        if where.quick:
            command += ["--set", "train.epochs=2"]
        found = answer(command)
        return {bar.name: {
            "ours": found["test_accuracy"], "ratio": found["test_accuracy"],
            "note": f"published with random words: {PUBLISHED}; "
            f"{'quick: ' if where.quick else ''}{found['seconds']:.0f} s"}}

    return Bench((bar,), measure)


# --- Recursion ---------------------------------------------------------------

class Recursion:
    """fib(24) by one worker and by all, and a chain of calls a million deep."""

    def __init__(self, where: Setting):
        self.where = where
        self.time = Bar("fib(24), an activation", "ns", 1000, at_most=True)
        self.frames = Bar("fib(24), live frames a worker", "frames",
                          2 * FIB_DEPTH, at_most=True)
        self.depth = Bar("recursion 1,000,000 deep", "calls", DEPTH)

    def bench(self) -> Bench:
        return Bench((self.time, self.frames, self.depth), self.measure)

    def measure(self) -> dict:
        threads = self.where.threads
        found = answer([self.where.worker, "recursion", "--threads", threads,
                        "--repetitions", 20 * self.where.pairs,
                        "--depth", DEPTH])
        alone = found["fibonacci"]["1"]
        crowd = found["fibonacci"][str(threads)]
        for run in (alone, crowd):
            if (run["value"], run["activations"]) != (FIB_VALUE,
                                                      FIB_ACTIVATIONS):
                raise ValueError(f"fib(24) gave {run['value']} in "
                                 f"{run['activations']} activations")
        deep = found["depth"]
        nanoseconds = [1e9 * s / FIB_ACTIVATIONS for s in alone["seconds"]]
        crowded = median(crowd["seconds"]) * 1e9 / FIB_ACTIVATIONS
        frames = max(alone["peak_frames"], crowd["peak_frames"] / threads)
        return {
            self.time.name: {
                **spread(nanoseconds),
                "note": f"one worker; {crowded:.0f} ns with {threads}; a graph "
                f"of {alone['nodes']} nodes"},
            self.frames.name: {
                "ours": frames, "ratio": frames,
                "note": f"{alone['peak_frames']} with one worker, "
                f"{crowd['peak_frames']} with {threads}"},
            self.depth.name: {
                "ours": deep["value"], "ratio": deep["value"],
                "note": f"{deep['peak_frames']:,} frames at once, "
                f"{deep['seconds']:.2f} s"}}


# --- Staging -----------------------------------------------------------------

def micro(where: Setting, pattern: str) -> dict[str, list[float]]:
    """Nanoseconds of each run of the micro-benchmarks, by name."""
    found = answer([where.build / "bin/weft-micro",
                    f"--benchmark_filter={pattern}",
                    "--benchmark_format=json",
                    "--benchmark_enable_random_interleaving=true",
                    "--benchmark_min_time=0.05",
                    f"--benchmark_repetitions={6 * where.pairs}"])
    times: dict[str, list[float]] = {}
    for run in found["benchmarks"]:
        if "error_message" in run:
            raise ValueError(f"{run['name']}: {run['error_message']}")
        if run["run_type"] == "iteration":
            name = run["run_name"].removesuffix("/real_time")
            times.setdefault(name, []).append(run["real_time"])
    return times


def staging_bench(where: Setting) -> Bench:
    bar = Bar("L2HMC, 10 chains: staged / by hand", "time", 1.03, at_most=True)

    def measure() -> dict:
        times = micro(where, "^jit/l2hmc_(staged|by_hand)/10/")
        staged = times["jit/l2hmc_staged/10"]
        by_hand = times["jit/l2hmc_by_hand/10"]
        ratio = median(staged) / median(by_hand)
        return {bar.name: {
            "ours": median(staged) / 1e3, "peer": median(by_hand) / 1e3,
            "peer_name": "graph by hand", "ratio": ratio,
            "low": min(staged) / max(by_hand),
            "high": max(staged) / min(by_hand), "note": "in us a move"}}

    return Bench((bar,), measure)


def cache_bench(where: Setting) -> Bench:
    bar = Bar("a call that finds its graph", "us", 2.0, at_most=True)

    def measure() -> dict:
        times = micro(where, "^jit/(call|bare_run)/")
        bare = median(times["jit/bare_run"]) / 1e3
        return {bar.name: {
            **spread([time / 1e3 for time in times["jit/call"]]),
            "note": "the run of its 16-float sum included, which takes "
            f"{bare:.2f} us alone"}}

    return Bench((bar,), measure)
