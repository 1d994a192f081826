"""Rows of the suite `tasks` about recipes/multi30k.toml: loss, BLEU and time
after the same steps on the same batches from the same weights, without dropout,
whose draws are each side's own."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked
from lib.worker import WorkerError

NEAR = 0.02  # of the peer's loss and BLEU
# The two sides round differently, of which thousands of steps make other models:
# BLEU of one is as chance has it, and means are compared.
SEEDS = (1, 2, 3)
LOSS_GAP = 1e-4  # of the first batch, relative


@dataclass(frozen=True)
class Training:
    """As the recipe trains."""
    epochs: int = 6
    batch: int = 64
    rate: float = 3e-3
    last_rate: float = 3e-5
    warmup: int = 300
    smoothing: float = 0.1


QUICK = replace(Training(), epochs=2, warmup=150)


def benches(where: Setting) -> list[Bench]:
    loss = Bar("Multi30k, test loss over the peer's", "share", 1 + NEAR,
               at_most=True)
    bleu = Bar("Multi30k, BLEU over the peer's", "share", 1 - NEAR)
    speed = Bar("Multi30k, training", "sentences/s", 1.0)
    return [Bench((loss, bleu, speed),
                  partial(measure, where, loss, bleu, speed))]


def measure(where: Setting, loss: Bar, bleu: Bar, speed: Bar) -> dict:
    training = QUICK if where.quick else Training()
    seeds = SEEDS[:1] if where.quick else SEEDS
    pairs = [train_both(where, training, seed) for seed in seeds]
    note = marked(where, f"{training.epochs} epochs of the recipe "
                  f"without dropout, a beam of 4; the means of {len(seeds)} "
                  f"seed{'s' if len(seeds) > 1 else ''}, ratios of each from low "
                  "to high")
    named = {"peer_name": where.peers.torch_name, "note": note}

    def compared(mine: str, theirs: str) -> dict:
        both = [(ours[mine], peer[theirs]) for ours, peer in pairs]
        ours, peer = (mean(side) for side in zip(*both))
        ratios = [one / other for one, other in both]
        return {"ours": ours, "peer": peer, "ratio": ours / peer,
                "low": min(ratios), "high": max(ratios)} | named
    return {loss.name: compared("test_loss", "loss"),
            bleu.name: compared("test_bleu", "bleu"),
            speed.name: compared("samples_per_s", "sentences_per_s")}


def train_both(where: Setting, training: Training,
               seed: int) -> tuple[dict, dict]:
    """What ours and the peer come to."""
    weights, first_loss = begin(where, training, seed)
    ours = answer(recipe(where, training, "run", seed))
    peer = answer([
        where.peers.python, where.root / "bench/peers/torch_translation.py",
        "--data", where.data_folder("multi30k"), "--weights", weights,
        "--threads", where.threads, "--epochs", training.epochs,
        "--batch", training.batch, "--rate", training.rate,
        "--last-rate", training.last_rate, "--warmup", training.warmup,
        "--smoothing", training.smoothing, "--seed", seed])
    gap = abs(peer["first_loss"] / first_loss - 1)
    if not gap <= LOSS_GAP:
        raise WorkerError(f"the losses of the first batch differ by {gap:.1e}")
    return ours, peer


def begin(where: Setting, training: Training, seed: int) -> tuple[Path, float]:
    """What Weft starts from, and its loss on the first batch: after a step by a
    rate that changes no f32."""
    found = answer([*recipe(where, training, "first", seed),
                    "--set", "train.max_steps=1", "--set", "optimizer.lr=1e-30",
                    "--set", "task.beam=1"])
    return run_folder(where, "first") / "last.safetensors", found["train_loss"]


def run_folder(where: Setting, name: str) -> Path:
    return where.build / "bench" / "multi30k" / name


def recipe(where: Setting, training: Training, name: str, seed: int) -> list:
    changes = {
        "train.seed": seed,
        "train.epochs": training.epochs, "train.batch": training.batch,
        "model.dropout": 0.0, "task.smoothing": training.smoothing,
        "optimizer.lr": f"cosine(from={training.rate}, "
        f"to={training.last_rate}, warmup={training.warmup})"}
    command = [where.root / "bin/weft", "train",
               where.root / "recipes/multi30k.toml", "--json",
               "--data", where.data_folder("multi30k").parent,
               "--threads", where.threads,
               "--out", run_folder(where, name)]
    for key, value in changes.items():
        command += ["--set", f"{key}={value}"]
    return command
