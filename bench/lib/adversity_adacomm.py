"""Local steps whose period follows the loss, on virtual clocks: against
synchronous training, and beside what formulas say of time."""

import math

from lib.bench import Bar, Bench, Setting
from lib.suite import marked
from lib.training_curve import train

MODEL_BYTES = 4 * 272_474  # of ResNet-20's parameters, as f32
STEP = 0.1  # seconds that a step computes, on average
SPREADING = 0.1  # of it, its deviation: no two workers are equally fast
# Of 20 steps each, where a round of 20 steps is not most of what is learned.
EPOCHS, QUICK_EPOCHS, BATCH = 16, 2, 512
# The paper's: 20 where the network is slow, 5 to 10 where it is fast.
TAU0 = {4: 20, 0.25: 5}
# Whole steps of twenty in an epoch of digits, however many workers.
DIGITS = ("model.name=mlp", "model.hidden=[16]", "optimizer.name=sgd",
          "optimizer.lr=0.05", "train.batch=71", "train.drop_last=true",
          "sync.collective=ring")


def cluster(workers: int, ratio: float) -> str:
    """One where an all-reduce of the model takes `ratio` times a step."""
    wire = 2 * (workers - 1) / workers * MODEL_BYTES
    return f"{workers}@50us,{round(wire / (ratio * STEP))}B/s"


def race(where: Setting, workers: int, ratio: float, least: float) -> Bench:
    label = f"resnet20 on cifar10, {workers} workers, communicating {ratio:g} x"
    speed = Bar(f"{label}: time to the synchronous loss, adacomm", "times",
                least)
    lost = Bar(f"{label}: accuracy that adacomm loses", "share", 0.02,
               at_most=True)

    def measure() -> dict:
        epochs = QUICK_EPOCHS if where.quick else EPOCHS
        # The clock is virtual: in bf16 the race takes us less time.
        common = ('optimizer={name = "sgd", lr = 0.1, weight_decay = 1e-4}',
                  f"train.batch={BATCH}", "train.dtype=bf16",
                  "sync.collective=ring",
                  f"simulate.compute=normal({STEP}s, {SPREADING:.0%})")

        def run(policy: str, longer: float) -> object:
            return train(where, f"adacomm-{workers}", "cifar10-resnet20",
                         *common, f"sync.policy={policy}",
                         f"train.epochs={math.ceil(longer * epochs)}",
                         simulate=cluster(workers, ratio), data="cifar10")

        together = run("allreduce", 1)
        seconds = together.epochs[-1]["seconds"]
        # Two thirds of what the epochs compute for: the period has halved two
        # or three times when the loss is reached. It halves where the loss
        # falls slowly, whatever is left to do, so that with many intervals
        # most of the run would have a period of 1.
        interval = seconds / (1 + ratio) / 1.5
        ours = run(f"adacomm(tau0={TAU0[ratio]}, interval={interval:.4g}s)",
                   1.5)
        reached = ours.first_below(together.train_loss, "seconds")
        if reached is None:
            why = (f"adacomm comes to {ours.train_loss:.4f}, synchronous "
                   f"training to {together.train_loss:.4f}")
            return {speed.name: {"error": why}, lost.name: {"error": why}}
        note = marked(where, f"to a training loss of {together.train_loss:.4f},"
                      f" which the synchronous run has after {epochs} epochs; "
                      f"of {BATCH} examples a step, tau0 {TAU0[ratio]}, an "
                      f"interval of {interval:.3g} s; virtual seconds of "
                      f"{cluster(workers, ratio)}, where a step computes for "
                      f"{STEP:g} s, {SPREADING:.0%} more or less")
        accuracies = [each.summary["test_accuracy"]
                      for each in (ours, together)]
        return {speed.name: {"ours": reached, "peer": seconds,
                             "peer_name": "allreduce",
                             "ratio": seconds / reached, "note": note},
                lost.name: {"ours": accuracies[0], "peer": accuracies[1],
                            "peer_name": "allreduce",
                            "ratio": accuracies[1] - accuracies[0],
                            "note": marked(where, "of the best epochs; ours "
                                           "had half as many again")}}

    return Bench((speed, lost), measure)


def greatest_mean(workers: int, steps: int) -> float:
    """The expectation of the greatest of so many means of `steps` exponential
    times of mean 1: of Gamma variables, by the trapezoidal rule."""
    width = 1e-3
    total, x = 0.0, 0.0
    while True:
        below = 1 - math.exp(-x) * math.fsum(x ** i / math.factorial(i)
                                             for i in range(steps))
        rest = 1 - max(below, 0.0) ** workers
        if rest < 1e-9 and x > steps:
            return total * width / steps
        total += rest if x else rest / 2
        x += width


def formulas(where: Setting) -> Bench:
    bar = Bar("seconds of a step: the runtime model, local_sgd", "share", 0.02,
              at_most=True)

    def step_seconds(workers: int, law: str, period: int,
                     epochs: int) -> float:
        run = train(where, "formulas", "digits", *DIGITS,
                    f"sync.policy=local_sgd({period})",
                    f"simulate.compute={law}", f"train.epochs={epochs}",
                    simulate=f"{workers}@20us,100Mbit/s")
        return run.summary["seconds"] / run.summary["steps"]

    def measure() -> dict:
        worst, notes = 0.0, []
        # A step is 20 ms; workers meet at the end of an epoch, too.
        step, period = 0.02, 10
        for workers in (4, 16) if where.quick else (4, 16, 64):
            often = step_seconds(workers, "constant(20ms)", 1, 2)
            delay = often - step
            expected = {
                ("constant(20ms)", period): step + delay / period,
                ("exponential(20ms)", 1):
                    step * greatest_mean(workers, 1) + delay,
                ("exponential(20ms)", period):
                    step * greatest_mean(workers, period) + delay / period}
            for (law, every), seconds in expected.items():
                epochs = 2 if law.startswith("constant") else 100
                found = step_seconds(workers, law, every, epochs)
                error = abs(found / seconds - 1)
                worst = max(worst, error)
                notes.append(f"{workers} workers, {law}, period {every}: "
                             f"{1e3 * found:.2f} of {1e3 * seconds:.2f} ms")
        return {bar.name: {"ours": worst, "ratio": worst,
                           "note": marked(where, "; ".join(notes))}}

    return Bench((bar,), measure)


def benches(where: Setting) -> list[Bench]:
    return [formulas(where), race(where, 4, 4, 3.0), race(where, 4, 0.25, 1.15),
            race(where, 8, 4, 3.0)]
