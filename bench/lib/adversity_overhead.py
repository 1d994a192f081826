"""What Multi-Krum and Bulyan cost where nobody lies: time to half of the mean's
final accuracy, as AggregaThor (MLSys 2019) has it, on the virtual clock of a
network of 10 Gbit/s. Steps are those of a quarter of its network (the table of
attacks); computing and rules are measured for the whole of it."""

from functools import cache, partial

from lib.adversity_attacks import LIARS, WORKERS, accuracy, train
from lib.adversity_rules import PARAMETERS, seconds
from lib.bench import Bar, Bench, Setting
from lib.suite import marked
from lib.worker import WorkerError

MOST = {f"multi_krum({LIARS})": 1.19, f"bulyan({LIARS})": 1.43}
BATCH = 100
BYTES_PER_S = 10e9 / 8
EVERY = 4  # steps between looks at the accuracy
STEPS = 100


def benches(where: Setting) -> list[Bench]:
    return [Bench((bar,), partial(measure, where, rule, bar))
            for rule, most in MOST.items()
            for bar in [Bar(f"nobody lies, 10 Gbit/s: time to half of the "
                            f"accuracy, {rule} over the mean", "s", most,
                            at_most=True)]]


@cache
def steps_to_half(where: Setting, rule: str) -> float:
    """Where the accuracy first is half of the mean's last one, on straight lines
    between looks."""
    half = accuracy(where, "mean", "none") / 2
    before = (0, 0.1)
    for step, reached in train(where, rule, "none", STEPS, EVERY)["curve"]:
        if reached >= half:
            share = (half - before[1]) / (reached - before[1])
            return before[0] + share * (step - before[0])
        before = (step, reached)
    raise WorkerError(f"{rule} does not come to an accuracy of {half:.3f}")


@cache
def computing(where: Setting) -> float:
    """Seconds of a worker's gradient, on one core."""
    return train(where, "mean", "none", 1, 1, BATCH,
                 divisor=1)["computing_seconds"]


def measure(where: Setting, rule: str, bar: Bar) -> dict:
    # The server has all gradients, and sends each worker the parameters.
    wire = 2 * WORKERS * 4 * PARAMETERS / BYTES_PER_S

    # The mean is a sum that grows as gradients come, behind the card's back.
    combining = seconds(where, rule) * PARAMETERS
    step = computing(where) + wire
    ours, mean = steps_to_half(where, rule), steps_to_half(where, "mean")
    return {bar.name: {
        "ours": ours * (step + combining), "peer": mean * step,
        "peer_name": "mean", "ratio": ours * (step + combining) / (mean * step),
        "note": marked(where, f"{ours:.1f} and {mean:.1f} steps; in a step a "
                       f"worker computes for {1e3 * computing(where):.0f} ms by "
                       f"{BATCH} examples on one core, gradients and parameters "
                       f"of {WORKERS} take {1e3 * wire:.0f} ms of the server's "
                       f"card, and the rule takes {1e3 * combining:.0f} ms on "
                       "one core")}}
