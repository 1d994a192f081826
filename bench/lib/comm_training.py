"""The bars of training by several workers: simulated against measured steps,
scaling, accuracy, overlap, and time to accuracy where little is sent."""

import re
from dataclasses import replace
from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.lab_training import (
    HOSTS, LONG_RESNET20, LONG_STEPS, MLP, RESNET20, Trainings, Way,
    mean_curve, steps_to, topology, way)
from lib.lab_ways import DENSE, RATES, THREE_LC, TOPK_1, trainings
from lib.netlab import Link
from lib.picture import chart
from lib.suite import answer, draw, initial_weights, marked, or_error

BUCKET_BYTES = 256 << 10  # the recipe's default
TOPK_STEPS = 3_000


def benches(where: Setting) -> list[Bench]:
    runs = trainings(where, RESNET20)
    return [*(simulated_bench(where, runs, rate) for rate in RATES),
            scaling_bench(where), overlap_bench(where, runs),
            topk_time_bench(where),
            *(accuracy_bench(where, how)
              for how in (*THREE_LC.values(), TOPK_1))]


def simulated_step(where: Setting, topology: str, compute_s: float,
                   batch: int, threads: int = 1) -> dict:
    return answer([
        where.worker, "simulate-step", "resnet20", "--threads", threads,
        "--batch", batch, "--bucket-bytes", BUCKET_BYTES, "--overlap", "true",
        "--collective", "auto", "--topology", topology, "--compute", compute_s,
        "--weights", initial_weights(where, "resnet20")])


def simulated_bench(where: Setting, runs: Trainings, rate: str) -> Bench:
    bar = Bar(f"lab, sim against {rate}: step", "relative", 0.15,
              at_most=True)
    return Bench((bar,), partial(compare_simulated, where, runs, rate, bar))


def compare_simulated(where: Setting, runs: Trainings, rate: str,
                      bar: Bar) -> dict:
    link = Link(RATES[rate])
    measured = runs.ours(DENSE, 6 if where.quick else 12, link)
    compute_s = measured.computing_s
    found = simulated_step(where, topology(link), compute_s, 32)
    gap = abs(found["seconds"] / measured.step_s - 1)
    return {bar.name: {"ours": gap, "ratio": gap, "note": marked(
        where, f"{1e3 * found['seconds']:.0f} ms simulated, "
        f"{1e3 * measured.step_s:.0f} ms measured, of which "
        f"{1e3 * compute_s:.0f} ms computing")}}


def scaling_bench(where: Setting) -> Bench:
    bar = Bar("scaling on sim, ResNet-20, 64 ranks, 10 Gbit/s", "share", 0.9)
    return Bench((bar,), partial(simulate_scaling, where, bar))


def simulate_scaling(where: Setting, bar: Bar) -> dict:
    """Against one worker with the same batch for itself."""
    alone = simulated_step(where, "1@0s,1GB/s", 0, 128, where.threads)
    found = simulated_step(where, "64@20us,10Gbit/s", alone["backward"], 128)
    share = alone["backward"] / found["seconds"]
    return {bar.name: {"ours": share, "ratio": share, "note":
                       f"{1e3 * alone['backward']:.0f} ms alone on "
                       f"{where.threads} cores, "
                       f"{1e3 * found['seconds']:.1f} ms among 64"}}


def accuracy_bench(where: Setting, how: Way) -> Bench:
    """The unit for 3LC is f32's standard deviation over the seeds. What the
    memory of 3LC holds back disturbs parameters by as much as the rate is
    large; momentum correction bears larger ones."""
    unit, limit, job = "deviations", 1.0, LONG_RESNET20
    if how is TOPK_1:
        unit, limit, job = "points", 0.5, replace(RESNET20, lr=0.1)
    bar = Bar(f"accuracy, {how.name}: below f32", unit, limit, at_most=True)
    return Bench((bar,), lambda: {bar.name: or_error(
        partial(compare_accuracy, where, how, trainings(where, job)))})


def compare_accuracy(where: Setting, how: Way, runs: Trainings) -> dict:
    seeds, steps = (1, 2, 3), TOPK_STEPS if how is TOPK_1 else LONG_STEPS
    if where.quick:
        seeds, steps = (1, 2), 156

    curves = {of.name: [runs.curve(of, steps, seed) for seed in seeds]
              for of in (DENSE, how)}
    name = re.sub("[, ]+", "-", how.name.replace("%", "percent"))
    draw(where, f"accuracy-{name}", chart(
        "ResNet-20, four workers: mean of the seeds", "step",
        "accuracy on test images",
        {name: mean_curve(each) for name, each in curves.items()},
        y_from_zero=False))
    base, found = ([curve[-1][1] for curve in each]
                   for each in curves.values())
    mean = sum(base) / len(base)
    spread = (sum((a - mean) ** 2 for a in base) / (len(base) - 1)) ** 0.5
    below = mean - sum(found) / len(found)
    figure = 100 * below if how is TOPK_1 else below / max(spread, 1e-9)
    return {"ours": figure, "ratio": figure, "note": marked(
        where, f"f32 {base}, so {found}, after {steps} steps"
        + runs.remark())}


# The network holds up a model that hosts compute a step of in 20 ms.
SIMULATED_RATE, COMPUTE_S = "100 Mbit/s", 0.02
TOPK_COLD = way("top 1 %, no warm-up", momentum=0, sparsify="topk(0.01)",
                momentum_correction=0.9)


def topk_time_bench(where: Setting) -> Bench:
    bar = Bar(f"top 1 %, MLP, simulated at {SIMULATED_RATE}: time to accuracy",
              "s", 10.0)
    return Bench((bar,), partial(race_topk, where, trainings(where, MLP), bar))


def race_topk(where: Setting, runs: Trainings, bar: Bar) -> dict:
    """Against f32 on the same network: steps by threads, times a step's
    seconds on the simulated one. The 1,000 steps are two epochs, and have no
    warm-up."""
    steps, accuracy = (100, 0.9) if where.quick else (1_000, 0.975)
    link = Link(RATES[SIMULATED_RATE])

    def seconds(how: Way) -> tuple[float, float, float]:
        needed = steps_to(accuracy, runs.curve(how, steps))
        step = runs.simulated(how, 8, link, COMPUTE_S).step_s
        return needed * step, needed, step

    (ours, *sparse), (peer, *dense) = map(seconds, (TOPK_COLD, DENSE))
    words = "; ".join(
        f"{name} {needed:.0f} steps of {1e3 * step:.0f} ms" for name,
        (needed, step) in (("top 1 %", sparse), ("f32", dense)))
    return {bar.name: {
        "ours": ours, "peer": peer, "peer_name": DENSE.name,
        "ratio": peer / ours, "note": marked(
            where, f"to {100 * accuracy:g} %: {words}, of which "
            f"{1e3 * COMPUTE_S:g} ms computing{runs.remark()}")}}


def overlap_bench(where: Setting, runs: Trainings) -> Bench:
    """With a core for each host, as hosts have. Where hosts share cores, one
    of them ends its backward pass late and all others wait for it: that row
    has no bar."""
    bars = tuple(Bar(f"lab, overlap at 1 Gbit/s, {hosts} hosts: hidden",
                     "share", 0.8 if hosts <= where.threads else None)
                 for hosts in (2, HOSTS))
    return Bench(bars, lambda: {
        bar.name: measure_overlap(where, runs, hosts)
        for bar, hosts in zip(bars, (2, HOSTS))})


def measure_overlap(where: Setting, runs: Trainings, hosts: int) -> dict:
    how = way("f32 in small buckets", bucket_bytes="65536")
    report = runs.ours(how, 8 if where.quick else 30,
                       Link(RATES["1 Gbit/s"]), hosts).report
    share = report["hidden_seconds"] / report["wire_seconds"]
    return {"ours": share, "ratio": share, "note": marked(
        where, f"{1e3 * report['hidden_seconds']:.0f} of "
        f"{1e3 * report['wire_seconds']:.0f} ms on the wire, in a step of "
        f"{1e3 * report['step_seconds']:.0f} ms")}
