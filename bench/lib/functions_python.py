"""Rows of the suite `functions` that are measured from Python."""

import subprocess
from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.measure import largest_gap, race
from lib.worker import Worker, WorkerError

CHAINS = 10
STAGED_MOVES, EAGER_MOVES = 400, 40  # in one timed block
TOLERANCE = 1e-3  # of five moves, relative


def benches(where: Setting) -> list[Bench]:
    eager = Bar(f"L2HMC {CHAINS} chains, staged / eager, Python", "chains/s",
                10)
    jax = Bar(f"L2HMC {CHAINS} chains, staged, Python", "chains/s", 1)
    return [Bench((eager,), partial(race_eager, where, eager)),
            Bench((jax,), partial(race_jax, where, jax))]


def race_eager(where: Setting, bar: Bar) -> dict:
    with (ours(where, "staged", STAGED_MOVES) as staged,
          ours(where, "eager", EAGER_MOVES) as eager):
        return {bar.name: fields(staged, eager, where, "eager")}


def race_jax(where: Setting, bar: Bar) -> dict:
    weights = where.build / "bench" / "l2hmc.safetensors"
    weights.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*worker(where), "write", "--chains", str(CHAINS),
                    "--weights", weights], check=True)
    version = subprocess.run(
        [where.peers.python, "-c", "import jax; print(jax.__version__)"],
        check=True, capture_output=True, text=True).stdout.strip()
    peer = [where.peers.python, where.root / "bench/peers/jax_l2hmc.py",
            "--chains", CHAINS, "--moves", STAGED_MOVES, "--weights", weights]
    with (ours(where, "staged", STAGED_MOVES) as staged,
          Worker(peer, where.threads) as jax):
        return {bar.name: fields(staged, jax, where, f"JAX {version} jit")}


def worker(where: Setting) -> list:
    """Runs with the system's Python, for which the package was built."""
    return ["env", f"PYTHONPATH={where.build / 'python'}", "GOMP_SPINCOUNT=10000",
            "/usr/bin/python3", where.root / "bench/worker/l2hmc.py"]


def ours(where: Setting, form: str, moves: int) -> Worker:
    return Worker([*worker(where), form, "--chains", CHAINS, "--moves", moves],
                  where.threads)


def fields(staged: Worker, other: Worker, where: Setting, name: str) -> dict:
    gap = largest_gap(*(side.ask("check")["values"]
                        for side in (staged, other)))
    if not gap <= TOLERANCE:
        raise WorkerError(f"the chains differ by {gap:.1e}")
    result = race(staged, other, where.pairs)
    return {"ours": result.ours, "peer": result.peer, "peer_name": name,
            "ratio": result.ratio, "low": result.low, "high": result.high,
            "note": f"five moves differ by at most {gap:.1e}"}
