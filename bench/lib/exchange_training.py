"""What is told of a run: its memory before it, and where its time goes while it
lasts, and what that costs."""

import json
import subprocess
import tempfile
from functools import partial
from statistics import median

from lib.bench import Bar, Bench, Setting

# Runs of some seconds: recipe, batch.
RUNS = (("mnist", 512), ("cifar10-resnet20", 128))
PROFILED = "mnist"


def benches(where: Setting) -> list[Bench]:
    return [memory_told(where), profile_overhead(where)]


def weft(where: Setting, *arguments: object) -> dict:
    done = subprocess.run(
        [str(part) for part in (where.build / "bin" / "weft", *arguments)],
        capture_output=True, text=True, check=True, cwd=where.root)
    return json.loads(done.stdout)


def memory_told(where: Setting) -> Bench:
    bars = {(recipe, batch, side): Bar(
        f"memory of {recipe}, batch {batch}, {side} what was told", "MB",
        {"above": 1.1, "below": 1.1}[side], at_most=True)
        for recipe, batch in RUNS for side in ("above", "below")}
    return Bench(tuple(bars.values()), partial(compare_memory, where, bars))


def compare_memory(where: Setting, bars: dict) -> dict:
    """The measured peak over what --dry-run told, and the other way round."""
    rows = {}
    for recipe, batch in RUNS:
        data = where.data_folder("cifar10" if "cifar" in recipe else recipe)
        with tempfile.TemporaryDirectory() as folder:
            command = ("train", f"recipes/{recipe}.toml", "--data", data,
                       "--threads", where.threads, "--set",
                       f"train.batch={batch}", "--json")
            told = weft(where, *command, "--dry-run")["bytes"]["in all"]
            peak = weft(where, *command, "--set", "train.epochs=1", "--out",
                        folder)["peak_rss_bytes"]
        for side, ratio in (("above", peak / told), ("below", told / peak)):
            rows[bars[recipe, batch, side].name] = {
                "ours": peak / 1e6, "peer": told / 1e6, "peer_name": "told",
                "ratio": ratio, "note": "the peak of one epoch"}
    return rows


def profile_overhead(where: Setting) -> Bench:
    bar = Bar(f"{PROFILED}, an epoch with --profile", "s", 1.02, at_most=True)
    return Bench((bar,), partial(race_profile, where, bar))


def race_profile(where: Setting, bar: Bar) -> dict:
    """Time of training alone: what is printed afterwards is not of the run."""
    data = where.data_folder(PROFILED)

    def seconds(*more: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            report = weft(where, "train", f"recipes/{PROFILED}.toml", "--data",
                          data, "--threads", where.threads, "--set",
                          "train.epochs=1", "--json", "--out", folder, *more)
        return report["seconds"]

    def pair(number: int) -> tuple[float, float]:
        profiled = ("--profile", "--set", "trace.steps=0")
        # Each comes first as often, so that a machine that slows down, as one
        # that grows warm does, slows both.
        if number % 2:
            plain = seconds()
            return seconds(*profiled), plain
        return seconds(*profiled), seconds()

    pairs = [pair(number) for number in range(where.pairs)]
    ratios = sorted(ours / plain for ours, plain in pairs)
    return {bar.name: {
        "ours": median(ours for ours, _ in pairs),
        "peer": median(plain for _, plain in pairs), "peer_name": "without",
        "ratio": median(ratios), "low": ratios[0], "high": ratios[-1],
        "note": "every step written"}}
