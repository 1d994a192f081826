"""Single ops, against PyTorch and onnxruntime, whichever is faster. The ops stand
in lib/op_table.py."""

from functools import partial
from math import exp, inf, isfinite, isnan, log

from lib.bench import Bar, Bench, Setting
from lib.functions_python import python
from lib.machine import line_of, machine
from lib.measure import race, rate
from lib.op_cases import Case
from lib.op_table import CASES
from lib.picture import dots
from lib.suite import draw
from lib.worker import Worker, WorkerError

MEAN = Bar("all ops, geometric mean", "times", 1.2)
TRIED_BLOCKS = 3
PREPARING_S = 300  # a slow op of many numbers, calibrated


def benches(where: Setting) -> list[Bench]:
    sides, ratios = Sides(where), {}
    found = []
    for case in CASES.values():
        bar = Bar(case.name, "µs", case.bar)
        found.append(Bench((bar,), partial(measure, sides, case, ratios)))
    return [*found, Bench((MEAN,), partial(mean, where, ratios))]


def side(where: Setting, name: str) -> Worker:
    """The process of weft, torch or onnx."""
    threads = ["--threads", where.threads]
    if name == "weft":
        command = [*python(where, "ops.py"), *threads]
    else:
        # Large results stay with the process, as ours do: it need not ask the
        # system for their pages with every call.
        command = ["env", "MALLOC_MMAP_MAX_=0",
                   "MALLOC_TRIM_THRESHOLD_=34359738368", where.peers.python,
                   where.root / f"bench/peers/{name}_ops.py", *threads]
    return Worker(command, where.threads, PREPARING_S, rests=True)


class Sides:
    """The processes of all sides, which live as long as the run: starting them
    takes longer than most rows."""

    def __init__(self, where: Setting):
        self._where, self._workers = where, {}
        self.pairs = where.pairs
        where.open.callback(self.forget)

    def __getitem__(self, name: str) -> Worker:
        if name not in self._workers:
            self._workers[name] = side(self._where, name)
        return self._workers[name]

    def forget(self) -> None:
        """At the end, and after an error, when nobody knows what the processes
        are at."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()


class OfCase:
    """A worker, asked about one op."""

    def __init__(self, worker: Worker, case: Case):
        self._worker, self._case = worker, case

    def ask(self, request: str) -> dict:
        return self._worker.ask(f"{request} {self._case.name}")


def measure(sides: Sides, case: Case, ratios: dict[str, float]) -> dict:
    try:
        row = raced(sides, case)
    except WorkerError:
        sides.forget()
        raise
    ratios[case.name] = row["ratio"]
    return {case.name: row}


def raced(sides: Sides, case: Case) -> dict:
    """Against the faster of the peers that have the op."""
    ours = OfCase(sides["weft"], case)
    checked = ours.ask("check")
    if "absent" in checked:
        raise WorkerError(f"weft: {checked['absent']}")
    peers, notes = {}, []
    for name, side in (("PyTorch", "torch"), ("onnxruntime", "onnx")):
        if not getattr(case, side):
            continue
        peer = OfCase(sides[side], case)
        answer = peer.ask("check")
        if "absent" in answer:
            notes.append(f"{name}: {answer['absent']}")
            continue
        agree(case, name, checked["values"], answer["values"])
        peers[name] = peer
    if not peers:
        raise WorkerError(f"no peer has it; {'; '.join(notes)}")
    rates = {name: max(rate(peer) for _ in range(TRIED_BLOCKS))
             for name, peer in peers.items()}
    best = max(rates, key=rates.get)
    notes += [f"{name}: {1e6 / speed:,.4g} µs"
              for name, speed in rates.items() if name != best]
    result = race(ours, peers[best], sides.pairs)
    return {"ours": 1e6 / result.ours, "peer": 1e6 / result.peer,
            "peer_name": best, "ratio": result.ratio, "low": result.low,
            "high": result.high, "note": "; ".join(notes)}


def agree(case: Case, peer: str, ours: list[list], theirs: list[list]) -> None:
    """Both computed the same numbers, else what was timed is not one op."""
    if len(ours) != len(theirs):
        raise WorkerError(f"{len(ours)} results against {len(theirs)} of {peer}")
    for number, (first, second) in enumerate(zip(ours, theirs)):
        gap = scaled_gap(first, second, case.compared == "magnitudes")
        if not gap <= case.tolerance:
            raise WorkerError(f"result {number} differs by {gap:.1e} of its "
                              f"largest number from {peer}'s: {first[:5]} "
                              f"against {second[:5]}")


def scaled_gap(ours: list[float], theirs: list[float],
               of_magnitudes: bool = False) -> float:
    """The largest difference of two lists, as a part of the largest number."""
    if len(ours) != len(theirs):
        return inf
    if of_magnitudes:
        ours, theirs = (list(map(abs, each)) for each in (ours, theirs))
    gaps = [abs(a - b) for a, b in zip(ours, theirs)
            if not (a == b or isnan(a) and isnan(b))]
    scale = max((abs(b) for b in theirs if isfinite(b)), default=0)
    return max(gaps, default=0) / max(scale, 1e-30)


def picture(ratios: dict[str, float], made: dict) -> str:
    return dots("Single ops against the faster of PyTorch and onnxruntime: "
                f"{line_of(made)}", "times as fast", ratios)


def mean(where: Setting, ratios: dict[str, float]) -> dict:
    """The mean of all ops, if all were measured in this run; a part of them
    has no mean that is worth keeping."""
    missing = len(CASES) - len(ratios)
    if missing:
        raise WorkerError(f"{missing} of {len(CASES)} ops were not measured")
    draw(where, "ops", picture(ratios, machine()))
    value = exp(sum(map(log, ratios.values())) / len(ratios))
    slower = sum(ratio < CASES[name].bar for name, ratio in ratios.items())
    return {MEAN.name: {
        "ours": value, "ratio": value, "low": min(ratios.values()),
        "high": max(ratios.values()),
        "note": f"{len(ratios)} rows, {slower} of them below their bars"}}
