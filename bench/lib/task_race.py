"""A recipe against its peer: both begin with the same weights, see the same
batches at the same rates, and are measured on the same held-out data."""

from dataclasses import dataclass
from pathlib import Path

from lib.bench import Setting
from lib.measure import largest_gap, race
from lib.worker import Worker, WorkerError

LOSS_GAP = 1e-4  # of the first losses, relative


@dataclass(frozen=True)
class TaskResult:
    ours: dict  # metrics on the held-out data, after the last step
    peer: dict
    rates: dict  # the fields of a row about examples a second


def race_task(where: Setting, recipe: str, data: str, net: str, steps: int,
              most_gap: float = LOSS_GAP) -> TaskResult:
    """`net` is a peer of bench/peers/torch_task_nets.py; `most_gap` is more than
    rounding where both sides draw for themselves."""
    file = where.build / "bench" / f"{recipe}.task.safetensors"
    file.parent.mkdir(parents=True, exist_ok=True)
    options = ["--steps", steps, "--threads", where.threads, "--file", file]
    # Ours first: it writes what the peer reads.
    with side([where.worker, "task", where.root / f"recipes/{recipe}.toml",
               "--data", where.data_folder(data), *options], where) as ours:
        first = ours.ask("check")["losses"]
        with side([where.peers.python,
                   where.root / "bench/peers/torch_task.py", net, *options],
                  where) as peer:
            gap = largest_gap(first, peer.ask("check")["losses"])
            if not gap <= most_gap:
                raise WorkerError(f"the first losses differ by {gap:.1e}")
            scores = ours.ask("train"), peer.ask("train")
            result = race(ours, peer, where.pairs)
    note = (f"as the recipe trains but for dropout; first losses differ by at "
            f"most {gap:.1e}")
    return TaskResult(*scores, {
        "ours": result.ours, "peer": result.peer,
        "peer_name": where.peers.torch_name, "ratio": result.ratio,
        "low": result.low, "high": result.high, "note": note})


def side(program: list[str | Path], where: Setting) -> Worker:
    # Threads of one that spin would take the cores of the other.
    return Worker(program, where.threads, rests=True)
