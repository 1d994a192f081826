"""3LC beside the designs that its authors compare it with (Lim, Andersen and
Kaminsky, "3LC", MLSys 2019), and without its parts: what a step sends, how long
it is on slow links, and where a short training ends. What a codec may not do by
a server, whose changes correct each other, it does among workers."""

from functools import partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.lab_training import HOSTS, RESNET20, Run, Trainings, Way, way
from lib.lab_ways import RATES, SERVER, THREE_LC, accuracy_row, trainings
from lib.netlab import Link
from lib.suite import marked, or_error

LARGEST = "method=sampled"
DESIGNS = {
    "f32": SERVER,
    "8 bits": way("3LC table, 8 bits", policy="server", codec="int8"),
    "stochastic, 3 values": way("3LC table, stochastic, 3 values",
                                codec="terngrad"),
    "1 bit": way("3LC table, 1 bit", policy="server", codec="onebit"),
    "25 % and a bitmap": way("3LC table, 25 %", policy="server",
                             sparsify=f"topk(0.25, {LARGEST})",
                             codec="index:bitmap"),
    "5 % and a bitmap": way("3LC table, 5 %", policy="server",
                            sparsify=f"topk(0.05, {LARGEST})",
                            codec="index:bitmap"),
    "2 local steps": way("3LC table, 2 local steps",
                         policy="local_sgd(2, momentum=kept)"),
    "3LC s=1": THREE_LC["1"],
    "3LC s=1.75": THREE_LC["1.75"],
    "3LC without zero runs": way("3LC table, without zero runs",
                                 policy="server",
                                 codec="3lc(1, zero_run=false)"),
    "3LC without memory": way("3LC table, without memory", policy="server",
                              codec="3lc(1)", memory="none")}
STEPS = 156  # of the bytes: two epochs
SIMULATED_STEPS = 8
COMPUTE_S = 0.05  # of a step on a host of the simulated network


def benches(where: Setting) -> list[Bench]:
    runs = trainings(where, RESNET20)
    return [bench(where, runs, name) for name in DESIGNS]


def bench(where: Setting, runs: Trainings, name: str) -> Bench:
    start = f"3LC table, {name}"
    bars = (Bar(f"{start}: bytes a step", "B", None),
            *(Bar(f"{start}: step at {rate}", "ms", None) for rate in RATES),
            Bar(f"{start}: accuracy", "share", None))
    return Bench(bars, partial(measure, where, runs, name, bars))


def sent(run: Run) -> float:
    """Bytes of the first rank, mean over the steps."""
    return sum(step["bytes_sent"] for step in run.traffic) / len(run.traffic)


def measure(where: Setting, runs: Trainings, name: str, bars: tuple) -> dict:
    how = DESIGNS[name]
    size, *times, accuracy = bars
    steps = 20 if where.quick else STEPS
    found, plain = (sent(runs.ours(each, steps))
                    for each in (how, DESIGNS["f32"]))
    rows = {size.name: {
        "ours": found, "peer": plain, "peer_name": "f32",
        "ratio": plain / found, "note": marked(
            where, f"sent by the first of {HOSTS} workers, mean of {steps} "
            "steps, both directions of a server included")}}
    for bar, rate in zip(times, RATES):
        rows[bar.name] = or_error(partial(simulated_step, runs, how, rate))
    rows[accuracy.name] = or_error(partial(accuracy_row, where, runs, how))
    return rows


def simulated_step(runs: Trainings, how: Way, rate: str) -> dict:
    """Steps are taken in twos, as every second local one sends nothing."""
    run = runs.simulated(how, SIMULATED_STEPS, Link(RATES[rate]), COMPUTE_S)
    each = [1e3 * (a + b) / 2 for a, b in
            zip(run.step_seconds[::2], run.step_seconds[1::2])]
    figure = median(each[1:])
    return {"ours": figure, "ratio": figure, "note":
            f"simulated, {1e3 * COMPUTE_S:g} ms of it computing"}
