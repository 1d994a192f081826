"""Networks for inference: what the search makes of them against the greedy one,
and against other runtimes on the same threads; and how far each is below what the
machine multiplies and reads, which no form of it can exceed."""

from collections.abc import Sequence
from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.measure import race, rate
from lib.suite import answer
from lib.worker import OneShot, Worker

# Weft's name and options, the side of an image.
NETWORKS = {"squeezenet": ("squeezenet", 224),
            "resnet18": ("resnet18", 224),
            "resnet50": ("resnet50", 224),
            "inception-v3": ("inception-v3", 299)}
PEERS = {"onnxruntime": ("onnxruntime", 1.0), "openvino": ("OpenVINO", 1.0),
         "compile": ("torch.compile", 1.2)}
BATCHES = (1, 8)
ALPHA = 1.05
# Cells of 1,024 units and 20 steps, with a product for each gate.
CELLS = {"sru": "SRU", "lstm-gates": "LSTM"}
UNITS, STEPS = 1024, 20
# Matrices that each step reads anew; those that are read once, for all steps;
# and the rows that the latter are multiplied by, together. Of an SRU's gate of
# the result only that of the last step is read.
MATRICES = {"sru": (0, 3, 2 * STEPS + 1), "lstm-gates": (4, 4, 4 * STEPS)}
SIDES = {"sru": ("sru", UNITS), **NETWORKS}


def benches(where: Setting) -> list[Bench]:
    found = []
    for network in NETWORKS:
        for batch in BATCHES:
            found.append(against_greedy(where, network, batch))
            found += [against_peer(where, network, batch, peer)
                      for peer in PEERS]
    found += [against_peer(where, "sru", batch, peer) for batch in BATCHES
              for peer in PEERS]
    return found + [merged_gates(where, cell) for cell in CELLS]


def ours(where: Setting, network: str, batch: int,
         more: Sequence = ()) -> "Form":
    name, side = SIDES[network]
    if network == "squeezenet":
        more = ["--bypass", "complex", *more]
    return Form(started(where, name, side, batch, more), "run")


def started(where: Setting, network: str, side: int, batch: int,
            more: Sequence = ()) -> Worker:
    return Worker([where.worker, "optimized", network, "--side", side,
                   "--batch", batch, "--alpha", ALPHA, "--threads",
                   where.threads, *more], where.threads, timeout_s=900,
                  rests=True)


def merged_gates(where: Setting, cell: str) -> Bench:
    title = f"{CELLS[cell]} of {UNITS}"
    bar = Bar(f"{title}: merged over separate gates, batch 1", "runs/s", 1.3)
    roof_bar = Bar(f"{title}: separate gates of their roof, batch 1", "ms",
                   None)

    def measure_cell() -> dict:
        worker = started(where, cell, UNITS, 1)
        with worker:
            report = worker.ask("report")["relaxed"]
            result = race(worker, Form(worker, "run start"), where.pairs)
        rules = applied(report)
        return {bar.name: compared(result, "separate", rules, not rules),
                roof_bar.name: roof_of_cell(where, cell, result.peer)}

    return Bench((bar, roof_bar), measure_cell)


def roof_of_cell(where: Setting, cell: str, runs_per_second: float) -> dict:
    """Merged or not, weights with the state are read in each step, and the others
    are multiplied by the rows of all steps."""
    each_step, at_once, rows = MATRICES[cell]
    matrix = 4 * UNITS**2
    read = answer([where.build / "bin" / "weft-read-rate",
                   matrix * max(each_step, at_once),
                   where.threads])["bytes_per_second"]
    moved = matrix * (each_step * STEPS + at_once)
    flops = 2 * UNITS**2 * rows
    roof = moved / read + flops / fma_peak(where)
    return {"ours": 1e3 / runs_per_second, "peer": 1e3 * roof,
            "peer_name": "roof", "ratio": roof * runs_per_second,
            "note": f"{moved / 1e6:.0f} MB at {read / 1e9:.0f} GB/s, "
            f"{flops / 1e6:.0f} MFLOP in products of all steps"}


def fma_peak(where: Setting) -> float:
    """Operations a second."""
    return rate(OneShot([where.build / "bin" / "weft-fma-peak",
                         where.threads]))


class Form:
    """One of the forms that a worker has: as it is, greedy or relaxed."""

    def __init__(self, worker: Worker, form: str):
        self.worker, self.form = worker, form

    def ask(self, request: str) -> dict:
        return self.worker.ask(self.form if request == "run" else request)


def bars_of(network: str, batch: int) -> tuple[Bar, ...]:
    title = f"{network}, batch {batch}"
    return (Bar(f"{title}: relaxed over greedy", "runs/s", 0.99),
            Bar(f"{title}: searched over as it is", "runs/s", 1.0),
            Bar(f"{title}: predicted over measured", "times", None),
            Bar(f"{title}: of the multiply-add roof", "GF/s", None))


def against_greedy(where: Setting, network: str, batch: int) -> Bench:
    bars = bars_of(network, batch)
    return Bench(bars, partial(measure, where, network, batch, bars))


def measure(where: Setting, network: str, batch: int,
            bars: tuple[Bar, ...]) -> dict:
    relaxed = ours(where, network, batch)
    with relaxed.worker as worker:
        greedy, start = Form(worker, "run greedy"), Form(worker, "run start")
        report = worker.ask("report")
        against = race(relaxed, greedy, where.pairs)
        before = race(relaxed, start, where.pairs)
    predicted = report["relaxed"]["after"] * against.ours
    peak = fma_peak(where)
    reached = report["flops"] * before.peer
    rules = {form: applied(report[form]) for form in ("relaxed", "greedy")}
    tried = f"{report['relaxed']['tried']} graphs were priced"
    return {
        bars[0].name: compared(against, "greedy", rules["relaxed"],
                               not any(rules.values())),
        bars[1].name: compared(before, "as it is", tried,
                               not rules["relaxed"]),
        bars[2].name: {"ours": predicted, "ratio": predicted,
                       "note": "of the relaxed form"},
        bars[3].name: {
            "ours": 1e-9 * reached, "peer": 1e-9 * peak, "peer_name": "roof",
            "ratio": reached / peak,
            "note": f"as it is, {1e-9 * report['flops']:.2f} GFLOP a run, "
            f"windows of 3 × 3 by a quarter of the multiplications: a form "
            f"with as many gains at most {peak / reached:.2f} times"}}


def applied(report: dict) -> str:
    return ", ".join(f"{count} {rule}" for rule, count
                     in sorted(report["rules"].items()))


def compared(result, peer: str, note: str, is_one: bool) -> dict:
    """Where nothing was changed both are one graph: what its runs differ by says
    nothing of the search, and stands in the note."""
    if not is_one:
        return row(result, peer, note)
    noise = (f"nothing was changed: both are one graph, whose runs differ by "
             f"{result.low:.3f} to {result.high:.3f}")
    return {"ours": result.ours, "peer": result.ours, "peer_name": peer,
            "ratio": 1.0, "note": f"{note}; {noise}" if note else noise}


def against_peer(where: Setting, network: str, batch: int, peer: str) -> Bench:
    name, least = PEERS[peer]
    bar = Bar(f"{network}, batch {batch}: over {name}", "runs/s", least)
    return Bench((bar,), partial(measure_peer, where, network, batch, peer,
                                 bar))


def measure_peer(where: Setting, network: str, batch: int, peer: str,
                 bar: Bar) -> dict:
    command = [where.peers.python, where.root / "bench/peers/torch_infer.py",
               network, "--runtime", peer, "--side", SIDES[network][1],
               "--batch", batch, "--threads", where.threads]
    relaxed = ours(where, network, batch)
    with relaxed.worker, Worker(command, where.threads, timeout_s=900,
                                rests=True) as theirs:
        result = race(relaxed, theirs, where.pairs)
    return {bar.name: row(result, PEERS[peer][0], "")}


def row(result, peer: str, note: str) -> dict:
    return {"ours": result.ours, "peer": result.peer, "peer_name": peer,
            "ratio": result.ratio, "low": result.low, "high": result.high,
            "note": note}
