"""YellowFin, which nobody tunes, beside optimizers that were: iterations to a
loss, what a step costs, and its loop where gradients are late."""

from functools import cache
from statistics import median
from typing import NamedTuple

from lib.bench import Bar, Bench, Setting
from lib.picture import chart
from lib.suite import answer, draw, marked
from lib.training_curve import Trained, train

GRIDS = {"adam": ("3e-4", "1e-3", "2e-3", "5e-3", "1e-2"),
         "momentum": ("0.003", "0.01", "0.03", "0.1", "0.3")}


class Task(NamedTuple):
    recipe: str
    data: str
    epochs: int
    dtype: str


SHAKESPEARE = Task("shakespeare-lstm", "tinyshakespeare", 10, "f32")
# In bf16: iterations are what counts, and these take a third of the time.
RESNET = Task("cifar10-resnet20", "cifar10", 20, "bf16")


@cache
def run(where: Setting, task: Task, optimizer: str, rate: str,
        seed: int) -> Trained:
    """At a rate that stays as it is: what is compared is what was chosen."""
    recipe, data, epochs, dtype = task
    return train(where, f"yellowfin-{recipe}", recipe, "train.eval_every=5",
                 f"train.dtype={dtype}",
                 f"optimizer={{name = \"{optimizer}\", lr = {rate}}}",
                 f"train.epochs={1 if where.quick else epochs}",
                 f"train.seed={seed}", data=data)


def points(run: Trained) -> list[tuple[float, float]]:
    return [(epoch["step"], epoch["train_loss"]) for epoch in run.epochs]


def race(where: Setting, task: Task, peer: str, least: float | None,
         seeds: tuple[int, ...]) -> Bench:
    """Iterations to the best loss of another optimizer, at the best of its
    rates; rates are chosen by the first seed."""
    bar = Bar(f"{task.recipe}: iterations to the loss of tuned {peer}, "
              "yellowfin", "times", least)
    seeds = seeds[:1] if where.quick else seeds
    grid = GRIDS[peer][1:2] if where.quick else GRIDS[peer]

    def measure() -> dict:
        tried = {rate: run(where, task, peer, rate, seeds[0]).train_loss
                 for rate in grid}
        rate = min(tried, key=tried.get)
        ratios, losses, curves = [], [], {}
        for seed in seeds:
            ours = run(where, task, "yellowfin", "1.0", seed)
            other = run(where, task, peer, rate, seed)
            losses.append(other.train_loss)
            reached = ours.first_below(other.train_loss, "step")
            steps = other.epochs[-1]["step"]
            curves[f"yellowfin, seed {seed}"] = points(ours)
            curves[f"{peer} at {rate}, seed {seed}"] = points(other)
            # A loss that is never reached counts by how far it was not.
            ratios.append(steps / reached if reached else
                          other.train_loss / ours.train_loss)
        draw(where, f"yellowfin-{task.recipe}-{peer}", chart(
            task.recipe, "iterations", "loss", curves, y_from_zero=False))
        return {bar.name: {
            "ratio": median(ratios), "low": min(ratios), "high": max(ratios),
            "note": marked(where, f"{peer} at {rate} comes to "
                           f"{median(losses):.4f} in {steps:,} iterations (" +
                           ", ".join(f"{loss:.4f} at {each}"
                                     for each, loss in tried.items())
                           + f"); seeds {', '.join(map(str, seeds))}; losses "
                           "are means of epochs; below 1: not reached, the "
                           "losses' ratio")}}

    return Bench((bar,), measure)


def same_rule(where: Setting) -> Bench:
    """Whether a race that is lost is lost by the method: by the same formulas
    in PyTorch, the same network must come to the same loss."""
    bar = Bar("cifar10-resnet20: loss by yellowfin, off that of its formulas in "
              "PyTorch", "share", 0.05, at_most=True)

    def measure() -> dict:
        epochs = 1 if where.quick else RESNET.epochs
        ours = run(where, RESNET._replace(epochs=epochs, dtype="f32"),
                   "yellowfin", "1.0", 1).train_loss
        peer = answer([where.peers.python,
                       where.root / "bench/peers/torch_yellowfin.py",
                       "--data", where.data_folder("cifar10").parent,
                       "--epochs", epochs, "--threads", where.threads])
        loss = peer["losses"][-1]
        return {bar.name: {
            "ours": ours, "peer": loss, "peer_name": where.peers.torch_name,
            "ratio": abs(ours / loss - 1),
            "note": marked(where, f"the mean of epoch {epochs}; there the rate "
                           f"is {peer['rate']:.2g} and momentum "
                           f"{peer['momentum']:.2g}")}}

    return Bench((bar,), measure)


def price(where: Setting) -> Bench:
    bar = Bar("resnet20 step, b128: yellowfin over momentum", "times", 1.25,
              at_most=True)

    def measure() -> dict:
        steps = 10 if where.quick else 40

        def seconds(optimizer: str) -> float:
            run = train(where, "yellowfin-price", "cifar10-resnet20",
                        f"optimizer={{name = \"{optimizer}\"}}",
                        f"train.max_steps={steps}", data="cifar10")
            return 128 / run.summary["samples_per_s"]

        pairs = [(seconds("yellowfin"), seconds("momentum")) for _ in range(3)]
        ratios = sorted(ours / peer for ours, peer in pairs)
        return {bar.name: {"ours": median(ours for ours, _ in pairs),
                           "peer": median(peer for _, peer in pairs),
                           "peer_name": "momentum", "ratio": median(ratios),
                           "low": ratios[0], "high": ratios[-1],
                           "note": marked(where, f"{steps} steps")}}

    return Bench((bar,), measure)


def loop(where: Setting) -> Bench:
    bar = Bar("digits, 16 workers that wait for nobody: total momentum beside "
              "the chosen one", "difference", 0.05, at_most=True)

    def measure() -> dict:
        epochs = 20 if where.quick else 60
        run = train(where, "yellowfin-loop", "digits",
                    # A push is a whole step: sixteen take a sixteenth each.
                    "optimizer={name = \"yellowfin\", closed_loop = true, "
                    "lr = 0.0625}",
                    "sync.policy=async_server", "train.batch=128",
                    "simulate.compute=exponential(20ms)",
                    f"train.epochs={epochs}", simulate="16@50us,1Gbit/s")
        total, chosen, own = (run.state(f"optimizer.{name}") for name in
                              ("total_momentum", "chosen_momentum",
                               "momentum"))
        return {bar.name: {"ours": total, "peer": chosen,
                           "peer_name": "chosen", "ratio": abs(total - chosen),
                           "note": marked(where, f"after {epochs} epochs; the "
                                          f"optimizer's own is {own:.3f}; "
                                          "accuracy "
                                          f"{run.summary['test_accuracy']:.3f}"
                                          )}}

    return Bench((bar,), measure)


def benches(where: Setting) -> list[Bench]:
    return [loop(where), price(where),
            race(where, SHAKESPEARE, "adam", 2.0, (1, 2, 3)),
            race(where, RESNET, "adam", 1.3, (1,)),
            race(where, RESNET, "momentum", None, (1,)), same_rule(where)]
