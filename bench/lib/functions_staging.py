"""Rows of the suite `functions` about training staged and eagerly, by batch: the
figure of Agrawal et al., "TensorFlow Eager" (2019), for a multilayer perceptron
and a small residual network."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.functions_python import python
from lib.measure import largest_gap, race
from lib.picture import chart
from lib.suite import draw, or_error
from lib.worker import Worker, WorkerError

BATCHES = (1, 4, 16, 64)
STEPS = {"mlp": 40, "resnet20": 4}  # in one timed block
LOSS_GAP = 1e-3  # of the first five losses, relative


def benches(where: Setting) -> list[Bench]:
    bars = {(model, batch): Bar(f"staged / eager, {model} step, b{batch}, "
                                "Python", "img/s", None)
            for model in STEPS for batch in BATCHES}
    return [Bench(tuple(bars.values()), partial(measure, where, bars))]


def measure(where: Setting, bars: dict) -> dict:
    rows = {bar.name: or_error(partial(race_forms, where, model, batch))
            for (model, batch), bar in bars.items()}
    lines: dict[str, list] = {}
    for (model, batch), bar in bars.items():
        if "ratio" in rows[bar.name]:
            lines.setdefault(model, []).append(
                (batch, rows[bar.name]["ratio"]))
    if lines:
        draw(where, "staged-eager", chart(
            "Training from Python: staged against eager", "batch",
            "times as fast", lines, log_x=True))
    return rows


def race_forms(where: Setting, model: str, batch: int) -> dict:
    def side(form: str) -> Worker:
        return Worker([*python(where, "staging.py"), form, model, "--batch",
                       batch, "--steps", STEPS[model]], where.threads)

    with side("staged") as staged, side("eager") as eager:
        gap = largest_gap(*(each.ask("check")["losses"]
                            for each in (staged, eager)))
        if not gap <= LOSS_GAP:
            raise WorkerError(f"the first losses differ by {gap:.1e}")
        result = race(staged, eager, where.pairs)
    return {"ours": result.ours, "peer": result.peer, "peer_name": "eager",
            "ratio": result.ratio, "low": result.low, "high": result.high,
            "note": f"first losses differ by at most {gap:.1e}"}
