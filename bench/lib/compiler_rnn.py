"""Recurrent layers served one sequence at a time: the ten problems of DeepBench
that the loop is about (Zhao et al., MLSys 2019), beside oneDNN's and
onnxruntime's own layers and beside separate ops; narrow weights; how near the
roof of caches and memory it comes; what the search takes and gains."""

from dataclasses import dataclass
from functools import cache, partial
from statistics import geometric_mean

from lib.bench import Bar, Bench, Setting
from lib.measure import Race, race, rate
from lib.suite import answer, marked
from lib.worker import OneShot, Worker


@dataclass(frozen=True)
class Problem:
    cell: str
    hidden: int
    steps: int
    xeon_ms: float  # the paper's table 6: TensorFlow on a Skylake

    @property
    def name(self) -> str:
        return f"{self.cell.upper()} {self.hidden}, {self.steps} steps"

    @property
    def gates(self) -> int:
        return {"lstm": 4, "gru": 3}[self.cell]

    @property
    def step_weights(self) -> int:
        """Those with the state: what each step has to read at least."""
        return self.gates * self.hidden**2


PROBLEMS = (Problem("lstm", 256, 150, 15.75), Problem("lstm", 512, 25, 11.50),
            Problem("lstm", 1024, 25, 107.65),
            Problem("lstm", 1536, 50, 411.0),
            Problem("lstm", 2048, 25, 429.36), Problem("gru", 512, 1, 0.91),
            Problem("gru", 1024, 1500, 3810), Problem("gru", 1536, 375, 2730),
            Problem("gru", 2048, 375, 5040), Problem("gru", 2560, 375, 7590))
QUICK_STEPS = 25
TIMEOUT_S = 600

# What the loop is raced against, and its least geometric mean over them.
PEERS = {"onednn": ("oneDNN's layer", 1.5), "onnx": ("onnxruntime", 1.5),
         "ops": ("separate ops", 4.0), "library": ("the library's products",
                                                   None)}
NARROW = {"bf16": None, "i8": 2.5}  # over f32
LEAST_OF_ROOF = 0.7
LEAST_OVER_XEON = 3.0
LEAST_GAIN, GAINS = 1.15, 3  # of the search, on so many problems
SEARCH_S = 2.0
TAIL = 1.2  # p99 over p50


def benches(where: Setting) -> list[Bench]:
    measured = Measurements(where)
    found = [bench(measured, problem) for problem in PROBLEMS]
    found += [mean_bench(measured, peer) for peer in PEERS]
    found += [narrow_bench(measured, dtype) for dtype in NARROW]
    return [*found, roof_bench(measured), search_bench(measured)]


class Measurements:
    """What several rows are made of is measured once."""

    def __init__(self, where: Setting):
        self.where = where
        self.race = cache(self._race)
        self.search = cache(self._search)
        self.latency = cache(self._latency)

    def steps(self, problem: Problem) -> int:
        return min(problem.steps, QUICK_STEPS) if self.where.quick \
            else problem.steps

    def side(self, problem: Problem, way: str, weights: str = "f32") -> Worker:
        sizes = [problem.cell, "--hidden", problem.hidden, "--steps",
                 self.steps(problem), "--batch", 1, "--threads",
                 self.where.threads]
        if way == "onnx":
            script = self.where.root / "bench/peers/onnx_recurrent.py"
            command = [self.where.peers.python, script, *sizes]
        else:
            command = [self.where.worker, "recurrent", *sizes, "--weights",
                       weights, "--way", way]
        return Worker(command, self.where.threads, TIMEOUT_S, rests=True)

    def _race(self, problem: Problem, peer: str) -> Race:
        """The loop in f32 against another way; or in narrow weights against
        itself in f32."""
        weights, way = (peer, "loop") if peer in NARROW else ("f32", peer)
        with self.side(problem, "loop", weights) as ours, \
                self.side(problem, way) as theirs:
            return race(ours, theirs, self.where.pairs)

    def _search(self, problem: Problem) -> dict:
        with self.side(problem, "loop") as ours:
            return ours.ask("search")

    def _latency(self, problem: Problem) -> dict:
        with self.side(problem, "loop") as ours:
            return ours.ask("latency")


def row(where: Setting, result: Race, peer: str) -> dict:
    return {"ours": 1e3 / result.ours, "peer": 1e3 / result.peer,
            "peer_name": peer, "ratio": result.ratio, "low": result.low,
            "high": result.high, "note": marked(where, "ms a sequence")}


def bench(measured: Measurements, problem: Problem) -> Bench:
    """The rows of one problem."""
    bars = {peer: Bar(f"{problem.name}: over {name}", "ms", None)
            for peer, (name, _) in PEERS.items()}
    bars |= {dtype: Bar(f"{problem.name}: {dtype} over f32", "ms", None)
             for dtype in NARROW}
    xeon = Bar(f"{problem.name}: over the paper's Xeon", "ms", LEAST_OVER_XEON)
    tail = Bar(f"{problem.name}: p99 over p50", "times", TAIL, at_most=True)
    return Bench((*bars.values(), xeon, tail),
                 partial(measure, measured, problem, bars, xeon, tail))


def measure(measured: Measurements, problem: Problem, bars: dict[str, Bar],
            xeon: Bar, tail: Bar) -> dict:
    where, rows = measured.where, {}
    for peer, bar in bars.items():
        name = PEERS[peer][0] if peer in PEERS else "f32"
        try:
            rows[bar.name] = row(where, measured.race(problem, peer), name)
        except Exception as error:  # one peer must not take the others along
            rows[bar.name] = {"error": str(error)}
    latency = measured.latency(problem)
    # A part of a long sequence stands for all of it.
    ms = 1e3 * latency["p50"] * problem.steps / measured.steps(problem)
    rows[xeon.name] = {"ours": ms, "peer": problem.xeon_ms,
                       "peer_name": "the paper's table",
                       "ratio": problem.xeon_ms / ms}
    spread = latency["p99"] / latency["p50"]
    bare = latency["read_p99"] / latency["read_p50"]
    rows[tail.name] = {"ours": spread, "ratio": spread,
                       "note": marked(where, f"of {latency['runs']} runs, p50 "
                                      f"{1e3 * latency['p50']:.3g} ms; reading "
                                      "the weights and nothing else, in turns "
                                      f"with them: {bare:.3g}, p50 "
                                      f"{1e3 * latency['read_p50']:.3g} ms")}
    return rows


def mean_bench(measured: Measurements, peer: str) -> Bench:
    name, least = PEERS[peer]
    bar = Bar(f"ten recurrent problems: over {name}, geometric mean", "times",
              least)
    return Bench((bar,), partial(mean, measured, peer, bar))


def narrow_bench(measured: Measurements, dtype: str) -> Bench:
    bar = Bar(f"ten recurrent problems: {dtype} over f32, geometric mean",
              "times", NARROW[dtype])
    return Bench((bar,), partial(mean, measured, dtype, bar))


def mean(measured: Measurements, peer: str, bar: Bar) -> dict:
    ratios = [measured.race(problem, peer).ratio for problem in PROBLEMS]
    average = geometric_mean(ratios)
    return {bar.name: {"ours": average, "ratio": average, "low": min(ratios),
                       "high": max(ratios),
                       "note": marked(measured.where, "low and high are the "
                                      "worst and the best problem")}}


def roof_bench(measured: Measurements) -> Bench:
    bars = {problem: Bar(f"{problem.name}: of the roof of its weights", "µs",
                         LEAST_OF_ROOF)
            for problem in PROBLEMS if problem.hidden >= 1024}
    return Bench((*bars.values(),), partial(roofs, measured, bars))


def roofs(measured: Measurements, bars: dict[Problem, Bar]) -> dict:
    """The weights with the state are read in each step, at the rate of where
    they lie; products with x, which are taken for many steps at once, are
    limited by arithmetic. One comes after the other."""
    where, rows = measured.where, {}
    peak = rate(OneShot([where.build / "bin" / "weft-fma-peak",
                         where.threads]))
    for problem, bar in bars.items():
        size = 4 * problem.step_weights
        read = answer([where.build / "bin" / "weft-read-rate", size,
                       where.threads])["bytes_per_second"]
        roof = size / read + 2 * problem.step_weights / peak
        step = measured.latency(problem)["p50"] / measured.steps(problem)
        rows[bar.name] = {
            "ours": 1e6 * step, "peer": 1e6 * roof, "peer_name": "roof",
            "ratio": roof / step,
            "note": marked(where, f"of a step; {size / 1e6:.1f} MB of weights "
                           f"at {read / 1e9:.1f} GB/s, "
                           f"{2e-6 * problem.step_weights:.1f} MFLOP at "
                           f"{peak / 1e9:.0f} GF/s")}
    return rows


def search_bench(measured: Measurements) -> Bench:
    longest = Bar("recurrent search: longest of ten", "s", SEARCH_S,
                  at_most=True)
    gain = Bar(f"recurrent search: gain over the paper's parameters, number "
               f"{GAINS}", "times", LEAST_GAIN)
    default = Bar("recurrent search: gain over the default, least of ten",
                  "times", None)
    return Bench((longest, gain, default),
                 partial(searches, measured, longest, gain, default))


def searches(measured: Measurements, longest: Bar, gain: Bar,
             default: Bar) -> dict:
    found = {problem: measured.search(problem) for problem in PROBLEMS}
    seconds = [each["seconds"] for each in found.values()]
    gains = sorted((each["paper"] / each["best"] for each in found.values()),
                   reverse=True)
    own = [each["default"] / each["best"] for each in found.values()]
    said = "; ".join(f"{problem.name}: {each['found']}"
                     for problem, each in found.items())
    return {longest.name: {"ours": max(seconds), "ratio": max(seconds),
                           "note": marked(measured.where, said)},
            gain.name: {"ours": gains[GAINS - 1], "ratio": gains[GAINS - 1],
                        "low": gains[-1], "high": gains[0]},
            default.name: {"ours": min(own), "ratio": min(own),
                           "low": min(own), "high": max(own)}}
