"""The bars of transactions: an array of which each transaction adds one to two
random objects."""

import json
from dataclasses import dataclass
from functools import cache, partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.measure import largest_gap, race, summary
from lib.picture import chart
from lib.suite import answer, draw, marked
from lib.worker import Worker, WorkerError

OBJECTS = (10_000, 100_000, 1_000_000)
CLOCKS = ("gv1", "gv4", "gv5", "gv6", "relaxed", "relaxed-probabilistic")
STEPS = 400_000  # of a block in software: some 50 ms
HARDWARE_STEPS = 4_000_000  # the same in hardware
THREADS = 2
# libitm's methods: software, and what it takes by itself, which is hardware
# transactions where the processor has them.
METHODS = {"ml_wt": "libitm in software", "": "libitm's own choice"}
DEFAULT = "gv4"

# Two threads at eight objects meet all the time. "none" is TL2's own rule: it
# looks a thousand times whether the lock is free, and aborts. Policies need
# locks that are taken at the first write, so that "none" has them, too; as TL2
# comes, it takes them at the commit.
FEW_OBJECTS = 8
POLICIES = ("none", "no-delay", "fixed", "deterministic", "random",
            "random-mean", "hybrid", "backoff", "karma", "timestamp")
LOCKINGS = {"encounter": "locks at the first write",
            "commit": "locks at the commit"}

CORES = (1, 2, 4, 8, 16, 32, 48, 64, 72)
SIMULATED = ("gv1", "gv4", "gv6", "relaxed")
SIMULATED_STEPS = 60_000  # of all cores together
DELTA_CORES, DELTA_OBJECTS = 32, 100_000
DELTA_TENTHS = (1, 3, 10, 30, 100)  # of the usual delta
CHECKED_CORES, CHECK_ROUNDS = 2, 9


def benches(where: Setting) -> list[Bench]:
    found = [race_bench(where, clock, objects, "ml_wt")
             for objects in OBJECTS for clock in CLOCKS]
    found += [race_bench(where, DEFAULT, objects, "") for objects in OBJECTS]
    found += [aborts_bench(where, objects) for objects in OBJECTS]
    found += [policy_bench(where, policy, "encounter") for policy in POLICIES]
    found += [policy_bench(where, "none", "commit")]
    found += [check_bench(where, clock, objects) for objects in OBJECTS
              for clock in SIMULATED]
    return found + [simulated_bench(where)]


# --- On this machine ---------------------------------------------------------

def ours(where: Setting, clock: str, objects: int, hardware: str = "off",
         policy: str = "none", threads: int = THREADS, steps: int = STEPS,
         draws: str = "once", locking: str = "commit") -> Worker:
    return Worker([where.concurrent_worker, "transactions", clock, "--hardware",
                   hardware, "--policy", policy, "--locking", locking,
                   "--objects", objects, "--draws", draws,
                   "--threads", threads, "--steps", steps], threads)


def libitm(where: Setting, objects: int, method: str, steps: int) -> Worker:
    chosen = ["env", f"ITM_DEFAULT_METHOD={method}"] if method else []
    return Worker([*chosen, where.build / "bin/weft-itm-array", objects,
                   THREADS, steps], THREADS)


def race_bench(where: Setting, clock: str, objects: int,
               method: str) -> Bench:
    bar = Bar(f"TL2 {clock}, {THREADS} threads, {objects:,} objects, against "
              f"{METHODS[method]}", "transactions/s", 1.0)
    return Bench((bar,), partial(race_arrays, where, clock, objects, method,
                                 bar))


def race_arrays(where: Setting, clock: str, objects: int, method: str,
                bar: Bar) -> dict:
    """Each pair is of new processes: one is faster than the next by up to a
    fifth, by where the system puts it, and stays so."""
    hardware, steps = ("off", STEPS) if method else ("auto", HARDWARE_STEPS)
    rates = []
    for _ in range(3 if where.quick else where.pairs):
        with ours(where, clock, objects, hardware, steps=steps) as us, \
                libitm(where, objects, method, steps) as peer:
            if largest_gap(us.ask("check")["values"],
                           peer.ask("check")["values"]) > 0:
                raise WorkerError("the arrays' sums differ")
            pair = race(us, peer, 1)
            counts = us.ask("counts")
            peer.ask("counts")  # both check their sums
        rates.append((pair.ours, pair.peer))
    raced = summary(rates)
    return {bar.name: {
        "ours": raced.ours, "peer": raced.peer, "peer_name": "libitm",
        "ratio": raced.ratio, "low": raced.low, "high": raced.high,
        "note": marked(where, f"{counts['hardware'] / counts['commits']:.1%} "
                       f"in hardware, {aborts_per_commit(counts):.2g} "
                       "aborts per commit in software; sums exact")}}


# --- Aborts of the relaxed clock ----------------------------------------------

def usual_delta(threads: int) -> int:
    """Ten times the clock's cells, of which there are four for each thread."""
    return 10 * 4 * threads


def expected_aborts(delta: int, objects: int) -> float:
    return 4 * delta / objects


def aborts_bench(where: Setting, objects: int) -> Bench:
    bar = Bar(f"TL2 relaxed, {objects:,} objects: aborts per commit, off "
              "4 delta / M by", "relative", 0.2, at_most=True)
    return Bench((bar,), partial(count_aborts, where, objects, bar))


def count_aborts(where: Setting, objects: int, bar: Bar) -> dict:
    with ours(where, "relaxed", objects, draws="anew") as us:
        us.ask("check")
        for _ in range(10):
            us.ask("run")
        counts = us.ask("counts")
    found = aborts_per_commit(counts)
    expected = expected_aborts(usual_delta(THREADS), objects)
    off = abs(found / expected - 1)
    return {bar.name: {"ours": off, "ratio": off, "note":
                       f"{found:.3g} found, {expected:.3g} expected"}}


# --- Who gives way, in software -------------------------------------------------

def policy_bench(where: Setting, policy: str, locking: str) -> Bench:
    bar = Bar(f"TL2 {DEFAULT}, {THREADS} threads, {FEW_OBJECTS} objects, "
              f"{LOCKINGS[locking]}, conflicts by {policy}", "transactions/s",
              None)
    return Bench((bar,), partial(measure_policy, where, policy, locking, bar))


def measure_policy(where: Setting, policy: str, locking: str,
                   bar: Bar) -> dict:
    with ours(where, DEFAULT, FEW_OBJECTS, policy=policy,
              locking=locking) as us:
        us.ask("check")
        blocks = [us.ask("run") for _ in range(3 if where.quick else 9)]
        counts = us.ask("counts")
    rates = [block["work"] / block["seconds"] for block in blocks]
    return {bar.name: {
        "ours": median(rates), "ratio": median(rates),
        "low": min(rates), "high": max(rates),
        "note": marked(where, f"{counts['aborts'] / counts['commits']:.2g} "
                       "aborts per commit; sum exact")}}


# --- On simulated cores --------------------------------------------------------

def calibrated(where: Setting) -> str:
    """What lines cost here now, as JSON that a simulation takes."""
    return json.dumps(answer([where.concurrent_worker, "calibrate"]),
                      sort_keys=True)


@dataclass(frozen=True)
class Simulated:
    """One machine for all runs that are compared: costs drift, so that what
    was calibrated at another time is another machine."""
    where: Setting
    costs: str

    @cache
    def own_ns(self, objects: int) -> int:
        """What a transaction of one thread takes beside what its accesses
        cost on one simulated core. Simulated caches never run full: what
        misses them here, among so many objects, is part of it."""
        with ours(self.where, "gv1", objects, threads=1,
                  draws="anew") as alone:
            alone.ask("check")
            seconds = min(alone.ask("run")["seconds"] for _ in range(5))
        found = self._answer("gv1", objects, 1, 0, 0)
        accesses = found["seconds"] / SIMULATED_STEPS
        return max(0, round(1e9 * (seconds / STEPS - accesses)))

    @cache
    def run(self, clock: str, objects: int, cores: int,
            delta: int = 0) -> dict:
        """A delta of 0 is the usual one."""
        return self._answer(clock, objects, cores, self.own_ns(objects), delta)

    def _answer(self, clock: str, objects: int, cores: int, own_ns: int,
                delta: int) -> dict:
        return answer([self.where.concurrent_worker, "simulated-transactions",
                       clock, "--objects", objects, "--cores", cores,
                       "--steps", SIMULATED_STEPS // cores, "--own-ns",
                       own_ns, "--delta", delta, "--costs", self.costs])

    def rate(self, clock: str, objects: int, cores: int) -> float:
        found = self.run(clock, objects, cores)
        return found["commits"] / found["seconds"] / 1e6

    @property
    def note(self) -> str:
        costs = ", ".join(f"{name} {cost:.3g}" for name, cost
                          in json.loads(self.costs).items()
                          if name != "migrates")
        own = ", ".join(f"{self.own_ns(objects)} among {objects:,} objects"
                        for objects in OBJECTS)
        return (f"ns of own work per transaction, measured: {own}; one "
                f"calibration for all: {costs}; each attempt draws anew")


def check_bench(where: Setting, clock: str, objects: int) -> Bench:
    bar = Bar(f"TL2 {clock}, {objects:,} objects, on {CHECKED_CORES} cores: "
              "|simulated / measured - 1|", "", 0.2, at_most=True)
    return Bench((bar,), partial(check_prediction, where, clock, objects, bar))


def check_prediction(where: Setting, clock: str, objects: int,
                     bar: Bar) -> dict:
    """Each round calibrates, and compares with what it measures next to that:
    the same load on real cores and on the cores of the curves, its objects
    drawn anew by each attempt on both."""
    ratios, rates = [], []
    for _ in range(3 if where.quick else CHECK_ROUNDS):
        machine = Simulated(where, calibrated(where))
        with ours(where, clock, objects, draws="anew") as us:
            us.ask("check")
            blocks = [us.ask("run") for _ in range(5)]
        # Other programs only make a block slower.
        measured = max(block["work"] / block["seconds"] for block in blocks)
        rates.append((1e6 * machine.rate(clock, objects, CHECKED_CORES),
                      measured))
        ratios.append(rates[-1][0] / measured)
    simulated, measured = (median(side) / 1e6 for side in zip(*rates))
    off = abs(median(ratios) - 1)
    return {bar.name: {"ours": off, "ratio": off, "note": marked(
        where, f"simulated / measured {median(ratios):.2f} ({min(ratios):.2f} "
        f"- {max(ratios):.2f} in {len(ratios)} rounds); {simulated:.2f} "
        f"against {measured:.2f} M/s")}}


def simulated_bench(where: Setting) -> Bench:
    most = CORES[-1]
    bars = (Bar(f"TL2 relaxed / gv1, {most} simulated cores, 1,000,000 objects",
                "", 3.0),
            Bar("TL2 relaxed / gv1, 10,000 objects, 1 to 72 simulated cores: "
                "least", "", 1.0, at_most=True),
            Bar(f"TL2 relaxed, {most} simulated cores, 1,000,000 objects: "
                "aborts per commit, off 4 delta / M by", "relative", 0.2,
                at_most=True))
    return Bench(bars, partial(measure_simulated, where, bars))


def measure_simulated(where: Setting, bars: tuple[Bar, ...]) -> dict:
    machine = Simulated(where, calibrated(where))
    cores_tried = CORES[::4] if where.quick else CORES
    rate = machine.rate
    for objects in OBJECTS:
        draw(where, f"tl2-{objects}-objects", chart(
            f"TL2 on simulated cores, {objects:,} objects", "cores",
            "million transactions / s",
            {clock: [(n, rate(clock, objects, n)) for n in cores_tried]
             for clock in SIMULATED}))
    draw_aborts(machine, cores_tried)
    draw_deltas(machine)
    most = cores_tried[-1]
    gain = rate("relaxed", OBJECTS[-1], most) / rate("gv1", OBJECTS[-1], most)
    least = min(rate("relaxed", OBJECTS[0], n) / rate("gv1", OBJECTS[0], n)
                for n in cores_tried)
    aborts = aborts_per_commit(machine.run("relaxed", OBJECTS[-1], most))
    off = abs(aborts / expected_aborts(usual_delta(most), OBJECTS[-1]) - 1)
    note = marked(where, ", ".join(
        f"{clock} {rate(clock, OBJECTS[-1], most):.1f}" for clock in SIMULATED)
        + f" M/s at {most} cores; {aborts:.3g} aborts per commit; "
        + machine.note)
    return {bar.name: {"ours": value, "ratio": value, "note": note}
            for bar, value in zip(bars, (gain, least, off))}


def aborts_per_commit(found: dict) -> float:
    return found["aborts"] / found["commits"]


def draw_aborts(machine: Simulated, cores_tried: tuple) -> None:
    lines = {}
    for objects in OBJECTS:
        lines[f"{objects:,} objects"] = [
            (n, aborts_per_commit(machine.run("relaxed", objects, n)))
            for n in cores_tried]
        lines[f"4 delta / {objects:,}"] = [
            (n, expected_aborts(usual_delta(n), objects)) for n in cores_tried]
    draw(machine.where, "tl2-aborts", chart(
        "TL2 with the relaxed clock on simulated cores", "cores",
        "aborts / commit", lines, log_y=True))


def draw_deltas(machine: Simulated) -> None:
    found = {delta: machine.run("relaxed", DELTA_OBJECTS, DELTA_CORES, delta)
             for delta in (usual_delta(DELTA_CORES) * share // 10
                           for share in DELTA_TENTHS)}
    title = (f"TL2 with the relaxed clock, {DELTA_CORES} simulated cores, "
             f"{DELTA_OBJECTS:,} objects")
    draw(machine.where, "tl2-delta", chart(
        title, "delta", "million transactions / s",
        {"relaxed": [(delta, run["commits"] / run["seconds"] / 1e6)
                     for delta, run in found.items()]}, log_x=True))
    draw(machine.where, "tl2-delta-aborts", chart(
        title, "delta", "aborts / commit",
        {"found": [(delta, aborts_per_commit(run))
                   for delta, run in found.items()],
         "4 delta / objects": [(delta, expected_aborts(delta, DELTA_OBJECTS))
                               for delta in found]},
        log_x=True, log_y=True))
