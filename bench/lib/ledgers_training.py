"""Private training: what a step costs, and what is learned within a guarantee."""

import json
import subprocess
import tempfile
from functools import partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

RECIPE = "mnist-private"
STEPS = 200
# Noise, rate, clip norm, epochs, and the accuracy that TensorFlow Privacy's
# tutorial reports for them (its README, minibatches of 256).
FIGURES = ((1.3, 0.25, 1.5, 15, 0.950), (1.1, 0.15, 1.0, 60, 0.966),
           (0.7, 0.25, 1.5, 45, 0.970))


def benches(where: Setting) -> list[Bench]:
    cost = Bar("private step over the plain one, the tutorial's network", "x",
               2.5, at_most=True)
    deep = Bar("private step over the plain one, mnist-cnn", "x", 2.5,
               at_most=True)
    opacus = Bar("private steps over Opacus's, the same network", "img/s", 1.0)
    ghost = Bar("private steps over Opacus's with ghost clipping", "img/s", 1.0)
    return [Bench((cost,), partial(race_plain, where, cost, RECIPE)),
            Bench((deep,), partial(race_plain, where, deep, "mnist")),
            Bench((opacus,), partial(race_opacus, where, opacus, "hooks")),
            Bench((ghost,), partial(race_opacus, where, ghost, "ghost")),
            *(learned(where, *figure) for figure in FIGURES)]


def rate(where: Setting, recipe: str, *settings: str) -> float:
    """Examples a second of a short run."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(part) for part in (
                where.build / "bin" / "weft", "train",
                where.root / f"recipes/{recipe}.toml", "--data",
                where.data_folder("mnist"), "--threads", where.threads,
                "--json", "--out", folder, "--set", "train.batch=256", "--set",
                f"train.max_steps={STEPS}",
                *(part for each in settings for part in ("--set", each)))],
            capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["samples_per_s"]


def race_plain(where: Setting, bar: Bar, recipe: str) -> dict:
    pairs = [(rate(where, recipe, "privacy.noise=1.3"),
              rate(where, recipe, "privacy.noise=0"))
             for _ in range(max(3, where.pairs // 3))]
    ratios = sorted(plain / private for private, plain in pairs)
    return {bar.name: {
        "ours": median(each[0] for each in pairs),
        "peer": median(each[1] for each in pairs), "peer_name": "not private",
        "ratio": median(ratios), "low": ratios[0], "high": ratios[-1],
        "note": f"batches of 256, {STEPS} steps"}}


def race_opacus(where: Setting, bar: Bar, mode: str) -> dict:
    pairs = []
    for _ in range(max(3, where.pairs // 3)):
        ours = rate(where, RECIPE)
        theirs = answer([where.peers.python,
                         where.root / "bench/peers/opacus_step.py", "--threads",
                         where.threads, "--mode", mode])["samples_per_s"]
        pairs.append((ours, theirs))
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    return {bar.name: {
        "ours": median(each[0] for each in pairs),
        "peer": median(each[1] for each in pairs),
        "peer_name": f"Opacus ({mode})", "ratio": median(ratios),
        "low": ratios[0], "high": ratios[-1],
        "note": "batches of 256 on average, Poisson sampling"}}


def learned(where: Setting, noise: float, lr: float, clip: float, epochs: int,
            accuracy: float) -> Bench:
    # The published figures are of single runs: half a percent is their spread.
    bar = Bar(f"MNIST, noise {noise}, {epochs} epochs: accuracy", "",
              round(accuracy - 0.005, 4))
    return Bench((bar,), partial(train, where, bar, noise, lr, clip, epochs))


def train(where: Setting, bar: Bar, noise: float, lr: float, clip: float,
          epochs: int) -> dict:
    epochs = 2 if where.quick else epochs
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(part) for part in (
                where.build / "bin" / "weft", "train",
                where.root / f"recipes/{RECIPE}.toml", "--data",
                where.data_folder("mnist"), "--threads", where.threads,
                "--json", "--out", folder, "--set", f"privacy.noise={noise}",
                "--set", f"optimizer.lr={lr}", "--set",
                f"privacy.clip_norm={clip}", "--set",
                f"train.epochs={epochs}")],
            capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    said = next((line for line in done.stderr.splitlines()
                 if "private:" in line), "")
    epsilon = said.partition("epsilon ")[2].partition(" ")[0]
    return {bar.name: {
        "ours": found["test_accuracy"], "ratio": found["test_accuracy"],
        "note": marked(where, f"epsilon {epsilon} at delta 1e-5, "
                              f"{found['seconds']:.0f} s")}}
