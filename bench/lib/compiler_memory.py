"""Training steps in less memory than they would take: what is computed again,
and what it costs."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.measure import race
from lib.worker import Worker

MODELS = {"resnet20": "ResNet-20"}
BATCH = 128
# How much of the memory is left, and how many times less that is at least.
SHARES = {"half": 2.0, "third": 3.0}


def benches(where: Setting) -> list[Bench]:
    return [within_memory(where, model) for model in MODELS]


def bars_of(model: str, share: str) -> tuple[Bar, Bar]:
    title = f"{MODELS[model]}, batch {BATCH}, in a {share} of the memory"
    return (Bar(f"{title}: speed", "steps/s", None),
            Bar(f"{title}: memory", "MB", SHARES[share]))


def within_memory(where: Setting, model: str) -> Bench:
    bars = tuple(bar for share in SHARES for bar in bars_of(model, share))
    return Bench(bars, partial(measure, where, model))


class Form:
    """One of the steps that a worker has."""

    def __init__(self, worker: Worker, form: str):
        self.worker, self.form = worker, form

    def ask(self, request: str) -> dict:
        return self.worker.ask(f"{request} {self.form}")


def measure(where: Setting, model: str) -> dict:
    command = [where.worker, "within-memory", model, "--batch", BATCH,
               "--threads", where.threads]
    rows = {}
    with Worker(command, where.threads, timeout_s=900, rests=True) as worker:
        report = worker.ask("report")
        whole = report["whole"]["arena"]
        for share in SHARES:
            speed, memory = bars_of(model, share)
            found = report[share]
            result = race(Form(worker, share), Form(worker, "whole"),
                          where.pairs)
            rows[speed.name] = {
                "ours": result.ours, "peer": result.peer,
                "peer_name": "all the memory", "ratio": result.ratio,
                "low": result.low, "high": result.high,
                "note": f"{found['again']} steps run again ({found['taken']}), "
                        f"predicted {1e3 * found['seconds']:.1f} ms more"}
            rows[memory.name] = {
                "ours": found["arena"] / 1e6, "peer": whole / 1e6,
                "peer_name": "all the memory", "ratio": whole / found["arena"],
                "note": "of intermediate values"}
    return rows
