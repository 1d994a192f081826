"""Training steps with the passes and rules that are always used, against steps of
the graph as it was traced. Loops are fused in both: the planner forms them."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.compiler_batch_norm import worker
from lib.measure import race
from lib.worker import Worker

# A model, its batch, and its depth where it has one.
STEPS = {"ResNet-20": ("resnet20", 128, None),
         "DenseNet-BC (k = 12, L = 100)": ("densenet-bc", 64, 100)}


def benches(where: Setting) -> list[Bench]:
    return [by_rules(where, title) for title in STEPS]


def by_rules(where: Setting, title: str) -> Bench:
    batch = STEPS[title][1]
    bar = Bar(f"{title}, batch {batch}, by rules alone: a step over that of the "
              "graph as traced", "images/s", 1.05)
    return Bench((bar,), partial(measure, where, title, bar))


def measure(where: Setting, title: str, bar: Bar) -> dict:
    model, batch, depth = STEPS[title]

    # Batch norm takes one pass on both sides, since no rule restructures it.
    def side(*more: str) -> Worker:
        return worker(where, "mvf", batch, depth=depth, model=model, more=more)

    with side() as ours, side("--rewrites", "none") as traced:
        result = race(ours, traced, where.pairs)
        steps = [each.ask("facts")["steps"] for each in (ours, traced)]
    return {bar.name: {
        "ours": result.ours, "peer": result.peer, "peer_name": "as traced",
        "ratio": result.ratio, "low": result.low, "high": result.high,
        "note": f"{steps[0]} steps of the plan, and {steps[1]}"}}
