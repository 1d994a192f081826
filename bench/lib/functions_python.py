"""Rows of the suite `functions` that are measured from Python: L2HMC beside JAX
and PyTorch, and what calls cost."""

import subprocess
from functools import partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.measure import largest_gap, race, rate
from lib.suite import answer, marked, python
from lib.worker import Worker, WorkerError

MOVES = {10: 400, 100: 200, 1000: 40}  # of a timed block, by chains
EAGER_SHARE = 10  # an eager block has so many times fewer moves
TOLERANCE = 1e-3  # of five moves, relative
COMPILING_S = 900  # the first answers of a side that compiles
TRIED_BLOCKS = 3


def benches(where: Setting) -> list[Bench]:
    found = []
    for chains in MOVES:
        name = f"L2HMC {chains} chains"
        few = chains == 10
        rows = ((f"{name}, staged / eager, Python", 10 if few else None,
                 race_eager),
                (f"{name}, staged, Python", 1 if few else None, race_jit),
                (f"{name}, Python, against JAX with a scan", None, race_scan),
                (f"{name}, staged, Python, against torch.compile", None,
                 race_compiled))
        for row, least, measure in rows:
            bar = Bar(row, "chains/s", least)
            found.append(Bench((bar,), partial(row_of, where, chains, bar,
                                               measure)))
    return [*found, calls_bench(where)]


# --- L2HMC ---------------------------------------------------------------------

def row_of(where: Setting, chains: int, bar: Bar, measure) -> dict:
    return {bar.name: measure(where, chains)}


def race_eager(where: Setting, chains: int) -> dict:
    with (ours(where, "staged", chains) as staged,
          ours(where, "eager", chains, EAGER_SHARE) as eager):
        return fields(staged, eager, where, "eager")


def race_jit(where: Setting, chains: int) -> dict:
    with (ours(where, "staged", chains) as staged,
          jax(where, "jit", chains) as peer):
        return fields(staged, peer, where, f"{jax_name(where)} jit")


def race_scan(where: Setting, chains: int) -> dict:
    """Our better form, too: a call a move, or a scan."""
    rates = {}
    for form in ("staged", "scan"):
        with ours(where, form, chains) as side:
            side.ask("check")
            rates[form] = max(rate(side) for _ in range(TRIED_BLOCKS))
    best = max(rates, key=rates.get)
    with (ours(where, best, chains) as side,
          jax(where, "scan", chains) as peer):
        row = fields(side, peer, where, f"{jax_name(where)} scan")
    form = {"staged": "a call a move", "scan": "a scan"}[best]
    return row | {"note": f"ours by {form}; {row['note']}"}


def race_compiled(where: Setting, chains: int) -> dict:
    with (ours(where, "staged", chains) as staged,
          peer(where, "torch_l2hmc.py", chains, "--threads",
               where.threads) as compiled):
        return fields(staged, compiled, where,
                      f"{where.peers.torch_name} compiled")


def ours(where: Setting, form: str, chains: int, share: int = 1) -> Worker:
    return Worker([*python(where, "l2hmc.py"), form, "--chains", chains,
                   "--moves", MOVES[chains] // share], where.threads)


def jax(where: Setting, form: str, chains: int) -> Worker:
    return peer(where, "jax_l2hmc.py", chains, form)


def peer(where: Setting, program: str, chains: int,
         *options: object) -> Worker:
    weights = where.build / "bench" / f"l2hmc-{chains}.safetensors"
    weights.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(list(map(str, [
        *python(where, "l2hmc.py"), "write", "--chains", chains, "--weights",
        weights])), check=True)
    return Worker([where.peers.python, where.root / "bench/peers" / program,
                   *options, "--chains", chains, "--moves", MOVES[chains],
                   "--weights", weights], where.threads, COMPILING_S)


def jax_name(where: Setting) -> str:
    version = subprocess.run(
        [where.peers.python, "-c", "import jax; print(jax.__version__)"],
        check=True, capture_output=True, text=True).stdout.strip()
    return f"JAX {version}"


def fields(staged: Worker, other: Worker, where: Setting, name: str) -> dict:
    gap = largest_gap(*(side.ask("check")["values"]
                        for side in (staged, other)))
    if not gap <= TOLERANCE:
        raise WorkerError(f"the chains differ by {gap:.1e}")
    result = race(staged, other, where.pairs)
    return {"ours": result.ours, "peer": result.peer, "peer_name": name,
            "ratio": result.ratio, "low": result.low, "high": result.high,
            "note": f"five moves differ by at most {gap:.1e}"}


# --- Calls ---------------------------------------------------------------------

CALLS = {"eager": Bar("an eager x + x from Python, 16 floats", "us", None),
         "staged": Bar("a staged call from Python, 16 floats", "us", None),
         "nested": Bar("a staged call from Python, a dict and a tuple", "us",
                       None),
         "trace": Bar("tracing a move of L2HMC from Python, its first run "
                      "included", "ms", None)}


def calls_bench(where: Setting) -> Bench:
    return Bench(tuple(CALLS.values()), partial(measure_calls, where))


def measure_calls(where: Setting) -> dict:
    found = answer([*python(where, "python_calls.py"), "--rounds",
                    where.pairs])
    rows = {}
    for name, bar in CALLS.items():
        figures = [seconds * (1e3 if bar.unit == "ms" else 1e6)
                   for seconds in found[name]]
        rows[bar.name] = {"ours": median(figures), "ratio": median(figures),
                          "low": min(figures), "high": max(figures),
                          "note": marked(where, f"{len(figures)} rounds")}
    return rows
