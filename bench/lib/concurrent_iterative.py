"""The bars of relaxed scheduling: wasted tries, equal bits, and throughput.

The waste of a greedy independent set under the uniform scheduler must be
proportional to k and to nothing else; that of the generic framework grows with
edges per vertex.
"""

from dataclasses import dataclass
from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.measure import largest_gap, race
from lib.picture import chart
from lib.suite import answer, draw, marked
from lib.worker import Worker, WorkerError

WINDOWS = (4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Sample:
    """A graph, and how many random orders of it are averaged over."""
    name: str
    vertices: int = 0
    edges: int = 0
    file: str = ""
    runs: int = 20
    generic_runs: int = 20

    def words(self, where: Setting) -> list:
        if self.file:
            folder, _, name = self.file.partition("/")
            return ["--edge-list", where.data_folder(folder) / name]
        return ["--vertices", self.vertices, "--edges", self.edges]


def random_sample(vertices: int, edges: int, runs: int = 20,
                  generic_runs: int = 20) -> Sample:
    def power(count: int) -> str:
        return f"{count:.0e}".replace("e+0", "e")
    return Sample(f"G({power(vertices)}, {power(edges)})", vertices, edges,
                  runs=runs, generic_runs=generic_runs)


# The mean of few runs is uncertain by about 1.5 k / sqrt(k runs).
SMALL = (random_sample(10**3, 10**4, 400),
         random_sample(10**4, 3 * 10**4, 400),
         random_sample(10**4, 10**5, 400),
         random_sample(3 * 10**4, 3 * 10**5, 200),
         random_sample(10**4, 10**6, 100))
LARGE = (random_sample(10**5, 10**6, 100, 5),
         random_sample(10**6, 10**7, 100, 3),
         random_sample(10**7, 10**8, 15, 1))
REAL = (Sample("email-enron", file="email-enron/email-Enron.txt.gz", runs=1000),
        Sample("ego-facebook", file="ego-facebook/facebook_combined.txt",
               runs=400))

# Extra tries of the generic framework, by window: means of reference runs.
REFERENCE = {"G(1e3, 1e4)": (55, 130, 300, 987, 2402),
             "G(1e4, 3e4)": (15, 40, 110, 223, 436),
             "G(1e4, 1e5)": (63, 122, 289, 671, 1334),
             "G(3e4, 3e5)": (82, 146, 318, 755, 1360),
             "G(1e4, 1e6)": (615, 1545, 3822, 9593, 24505)}


def benches(where: Setting) -> list[Bench]:
    return ([waste_bench(where, sample) for sample in SMALL + LARGE + REAL]
            + [generic_bench(where), multi_queue_bench(where),
               determinism_bench(where)]
            + [solve_bench(where, rival) for rival in RIVALS])


# --- Waste -------------------------------------------------------------------

_measured: dict[tuple[str, str], dict] = {}
_late_dead: dict[str, float] = {}


def waste(where: Setting, sample: Sample, scheduler: str = "uniform",
          runs: int | None = None) -> dict:
    """Window -> {"set": …, "generic": …}; measured once."""
    key = (sample.name, scheduler)
    if key not in _measured:
        runs = runs or sample.runs
        if where.quick:
            runs = min(runs, 5)
        found = answer([where.concurrent_worker, "waste", *sample.words(where),
                        "--windows", ",".join(map(str, WINDOWS)), "--runs",
                        runs, "--generic-runs", min(runs, sample.generic_runs),
                        "--scheduler", scheduler])
        _measured[key] = {cell["window"]: cell for cell in found["cells"]}
        _late_dead[sample.name] = found["late_dead"]["mean"]
    return _measured[key]


def waste_bench(where: Setting, sample: Sample) -> Bench:
    name = f"MIS of {sample.name}: wasted tries / k"
    bars = (Bar(f"{name}, least", "", 0.5),
            Bar(f"{name}, largest", "", 2.0, at_most=True))
    return Bench(bars, partial(measure_waste, where, sample, bars))


def measure_waste(where: Setting, sample: Sample,
                  bars: tuple[Bar, ...]) -> dict:
    cells = waste(where, sample)
    means = {k: cell["set"]["mean"] for k, cell in cells.items()}
    draw_waste(where)
    note = ", ".join(f"k={k}: {mean:.1f} ± {cells[k]['set']['error']:.1f}"
                     for k, mean in means.items())
    dead = _late_dead[sample.name]
    note += (f"; of the last vertices {dead:.3f} are dead: x (k - 1) is " +
             ", ".join(f"{dead * (k - 1):.1f}" for k in means))
    shares = [mean / k for k, mean in means.items()]
    return {bar.name: {"ours": value, "ratio": value,
                       "note": marked(where, note)}
            for bar, value in zip(bars, (min(shares), max(shares)))}


def draw_waste(where: Setting) -> None:
    """All samples that have been measured by now."""
    def lines(kind: str) -> dict:
        return {name: [(k, max(cell[kind]["mean"], 0.1))
                       for k, cell in cells.items()]
                for (name, scheduler), cells in _measured.items()
                if scheduler == "uniform"}
    for kind, title in (("set", "independent set"),
                        ("generic", "generic framework (colouring)")):
        draw(where, f"waste-{kind}", chart(
            f"Wasted tries, {title}", "k", "tries", lines(kind), log_x=True,
            log_y=True))


def generic_bench(where: Setting) -> Bench:
    name = "generic framework: wasted tries / reference"
    bars = (Bar(f"{name}, least of 25", "", 0.6),
            Bar(f"{name}, largest of 25", "", 1.5, at_most=True),
            Bar("generic framework, k=64: waste at 1e6 edges / at 1e5",
                "", 10.0),
            Bar("MIS, k=64: waste at 1e6 edges / at 1e5", "", 1.5,
                at_most=True))
    return Bench(bars, partial(measure_generic, where, bars))


def measure_generic(where: Setting, bars: tuple[Bar, ...]) -> dict:
    shares = [cell["generic"]["mean"] / expected
              for sample in SMALL
              for cell, expected in zip(waste(where, sample).values(),
                                        REFERENCE[sample.name])]
    few, many = (waste(where, random_sample(10**4, m))[64]
                 for m in (10**5, 10**6))
    growth = [many[kind]["mean"] / few[kind]["mean"]
              for kind in ("generic", "set")]
    values = (min(shares), max(shares), *growth)
    return {bar.name: {"ours": value, "ratio": value}
            for bar, value in zip(bars, values)}


def multi_queue_bench(where: Setting) -> Bench:
    bars = (Bar("MIS by a MultiQueue, 4 to 64 queues: wasted tries / queues",
                "", 2.0, at_most=True),)
    return Bench(bars, partial(measure_multi_queue, where, bars[0]))


def measure_multi_queue(where: Setting, bar: Bar) -> dict:
    lines, notes = {}, []
    for sample in SMALL:
        cells = waste(where, sample, "multiqueue", runs=40)
        lines[sample.name] = [(q, max(cell["set"]["mean"], 0.1))
                              for q, cell in cells.items()]
        notes.append(f"{sample.name}: " + " ".join(
            f"{cell['set']['mean']:.1f}" for cell in cells.values()))
    draw(where, "waste-multiqueue", chart(
        "Wasted tries, independent set by a MultiQueue", "queues", "tries",
        lines, log_x=True, log_y=True))
    worst = max(tries / queues for line in lines.values()
                for queues, tries in line)
    return {bar.name: {"ours": worst, "ratio": worst,
                       "note": marked(where, "; ".join(notes))}}


# --- Equal bits --------------------------------------------------------------

def determinism_bench(where: Setting) -> Bench:
    bars = tuple(Bar(f"{problem}: runs that differ by a bit, of 16", "runs", 0,
                     at_most=True)
                 for problem in ("set", "matching", "colouring"))
    return Bench(bars, partial(measure_determinism, where, bars))


def measure_determinism(where: Setting, bars: tuple[Bar, ...]) -> dict:
    edges = 10**5 if where.quick else 10**6
    found = answer([where.concurrent_worker, "determinism", "--vertices",
                    edges // 10, "--edges", edges])
    return {bar.name: {"ours": different, "ratio": different,
                       "note": f"{edges // 10:,} vertices, {edges:,} edges; "
                       "1, 2, 8, 64 threads by 1, 3, 16, 256 queues"}
            for bar, different in
            ((bar, found["different"][bar.name.partition(":")[0]])
             for bar in bars)}


# --- Throughput --------------------------------------------------------------

@dataclass(frozen=True)
class Rival:
    key: str
    name: str
    bar: float | None
    note: str = ""


# What is no bar is shown all the same: on two cores the relaxed scheduler has
# nothing to win from where a fetch-and-add is cheap.
SHOWN = "a queue pays where heads of arrays are contended"
RIVALS = (Rival("heap", "a locked heap", 2.0),
          Rival("exact", "an exact array", None, SHOWN),
          Rival("rounds", "rounds of prefixes", None, SHOWN),
          Rival("in-order", "the sequential algorithm", None, SHOWN))
SOLVE_VERTICES, SOLVE_EDGES = 10**6, 10**7


def solve_bench(where: Setting, rival: Rival) -> Bench:
    bar = Bar(f"MIS by a MultiQueue, 2 threads, against {rival.name}",
              "vertices/s", rival.bar)
    return Bench((bar,), partial(race_solvers, where, rival, bar))


def race_solvers(where: Setting, rival: Rival, bar: Bar) -> dict:
    def side(scheduler: str) -> Worker:
        return Worker([where.concurrent_worker, "solve", scheduler,
                       "--threads", 2, "--vertices", SOLVE_VERTICES,
                       "--edges", SOLVE_EDGES], threads=2)
    with side("multiqueue") as ours, side(rival.key) as peer:
        if largest_gap(ours.ask("check")["values"],
                       peer.ask("check")["values"]) > 0:
            raise WorkerError("the sets differ")
        raced = race(ours, peer, 3 if where.quick else where.pairs)
    return {bar.name: {"ours": raced.ours, "peer": raced.peer,
                       "peer_name": rival.key, "ratio": raced.ratio,
                       "low": raced.low, "high": raced.high,
                       "note": marked(where, rival.note)}}
