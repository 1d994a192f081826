"""Local steps whose period follows the loss, on virtual clocks: against
synchronous training, and beside what formulas say of time."""

import math

from lib.bench import Bar, Bench, Setting
from lib.picture import chart
from lib.suite import draw, marked
from lib.training_curve import Trained, train

# A quarter of AggregaThor's network, without batch norm: a step costs us little,
# so that both sides may train for long.
LAYERS = ("conv2d(16, kernel=5)", "relu", "max-pool(3, stride=2, padding=1)",
          "conv2d(16, kernel=5)", "relu", "max-pool(3, stride=2, padding=1)",
          "flatten", "linear(96)", "relu", "linear(48)", "relu", "linear(10)")
MODEL_BYTES = 4 * 111_178  # of its parameters, as f32
STEP = 0.1  # seconds that a step computes, on average
SPREADING = 0.1  # of it, its deviation: no two workers are equally fast
EPOCHS, QUICK_EPOCHS = 24, 2
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


def first_at(run: Trained, loss: float) -> float | None:
    """When the model that workers agree on first had that loss, or a lower one,
    on held-out images. The losses that they train with are those of copies that
    have drifted apart."""
    return next((epoch["seconds"] for epoch in run.epochs
                 if epoch["test_loss"] <= loss), None)


def race(where: Setting, workers: int, ratio: float, least: float) -> Bench:
    label = f"cifar10, {workers} workers, communicating {ratio:g} x"
    speed = Bar(f"{label}: time to the synchronous loss, adacomm", "times",
                least)
    lost = Bar(f"{label}: accuracy that adacomm loses", "share", 0.02,
               at_most=True)

    def measure() -> dict:
        epochs = QUICK_EPOCHS if where.quick else EPOCHS
        common = ("model.name=sequential",
                  "model.layers=[" + ", ".join(f'"{each}"' for each in LAYERS)
                  + "]", 'optimizer={name = "sgd", lr = 0.03}',
                  "sync.collective=ring",
                  f"simulate.compute=normal({STEP}s, {SPREADING:.0%})")

        def run(policy: str, longer: float) -> Trained:
            return train(where, f"adacomm-{workers}", "cifar10-resnet20",
                         *common, f"sync.policy={policy}",
                         f"train.epochs={math.ceil(longer * epochs)}",
                         simulate=cluster(workers, ratio), data="cifar10")

        together = run("allreduce", 1)
        loss = min(epoch["test_loss"] for epoch in together.epochs)
        # Half of what the epochs compute for: the period halves where the loss
        # falls slowly, whatever is left to do, and with many intervals would be
        # 1 for most of the run.
        interval = together.epochs[-1]["seconds"] / (1 + ratio) / 2
        ours = run(f"adacomm(tau0={TAU0[ratio]}, interval={interval:.4g}s)",
                   1.5)
        draw(where, f"adacomm-{workers}-workers-{ratio:g}x", chart(
            f"{workers} workers, communicating takes {ratio:g} steps",
            "virtual seconds", "held-out loss",
            {name: [(epoch["seconds"], epoch["test_loss"])
                    for epoch in each.epochs]
             for name, each in (("adacomm", ours), ("allreduce", together))},
            y_from_zero=False))
        seconds, reached = first_at(together, loss), first_at(ours, loss)
        if reached is None:
            best = min(epoch["test_loss"] for epoch in ours.epochs)
            why = (f"adacomm comes to {best:.4f}, synchronous training to "
                   f"{loss:.4f}")
            return {speed.name: {"error": why}, lost.name: {"error": why}}
        note = marked(where, f"to {loss:.4f} on held-out images, the least of "
                      f"{epochs} epochs together; tau0 {TAU0[ratio]}, an "
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
