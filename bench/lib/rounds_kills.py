"""Ranks that are killed at random moments, under mpirun: how runs end, and
whether they go on."""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from lib.bench import Bar, Bench, Setting
from lib.suite import marked

RUNS, QUICK_RUNS = 100, 10
DEADLINE_S = 30
# What workers and servers do when one of them dies.
WAYS = (("policy=allreduce",), ("policy=server",),
        ("policy=server", "servers=1"), ("policy=stale_server(2)", "servers=1"))
# "… in push of f32[2048] bucket 3: fc1.weight": an operation and a tensor.
WAITED = re.compile(r"(hear|send) rank \d+.* in \w+.* of .+")


def benches(where: Setting) -> list[Bench]:
    runs = QUICK_RUNS if where.quick else RUNS
    bar = Bar(f"digits, a rank killed under mpirun, {RUNS} runs: end with who "
              "and where, and go on", "share", 1.0)

    def measure() -> dict:
        chance = random.Random(1)
        failures = [said for i in range(runs)
                    if (said := kill_one(where, chance, i))]
        share = 1 - len(failures) / runs
        return {bar.name: {"ours": share, "ratio": share, "note": marked(
            where, "; ".join([f"each within {DEADLINE_S} s, by all-reduce and "
                              "servers in turn, with 3 and 4 ranks; gone on "
                              "with another number of ranks",
                              *failures[:3]]))}}

    return [Bench((bar,), measure)]


def kill_one(where: Setting, chance: random.Random, number: int) -> str:
    """Empty if all went as it should, else what did not."""
    out = where.build / "bench" / "kills"
    shutil.rmtree(out, ignore_errors=True)
    ranks = 3 + number % 2
    way = WAYS[number % len(WAYS)]
    process = start(where, ranks, way, out, 100_000)
    victims = wait_until_it_trains(process, ranks, out)
    time.sleep(chance.uniform(0, 0.5))
    victim = chance.choice(sorted(victims))
    os.kill(victims[victim], signal.SIGKILL)
    killed = time.monotonic()
    try:
        _, said = process.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"run {number} ({way}): does not end"
    took = time.monotonic() - killed
    if not process.returncode or not re.search(rf"\brank {victim}\b", said):
        return (f"run {number} ({way}): rank {victim} is not named after "
                f"{took:.0f} s: {said[-200:]!r}")
    if not WAITED.search(said):
        return f"run {number} ({way}): no operation is named: {said[-200:]!r}"
    again = start(where, 7 - ranks, way, out, 0)
    _, said = again.communicate(timeout=10 * DEADLINE_S)
    return f"run {number} ({way}): {said[-200:]!r}" if again.returncode else ""


def start(where: Setting, ranks: int, way: tuple, out: Path,
          epochs: int) -> subprocess.Popen:
    """More epochs than it will come to; or, with 0, two more than it has."""
    if not epochs:
        log = out / "metrics.jsonl"
        epochs = len(log.read_text().splitlines()) + 2 if log.exists() else 2
    keys = [*(f"sync.{key}" for key in way), f"train.epochs={epochs}",
            "train.checkpoint_every=5", "sync.bucket_bytes=65536"]
    return subprocess.Popen(
        ["mpirun", "--allow-run-as-root", "--oversubscribe",
         # How long it waits before it ends the others, and again before it
         # kills them: one second by itself, too little for four ranks that
         # share two cores.
         "--mca", "odls_base_sigkill_timeout", "3", "-n", str(ranks),
         str(where.build / "bin/weft"), "train", "recipes/digits.toml",
         "--resume", "--threads", "1", "--out", str(out),
         *(word for key in keys for word in ("--set", key))],
        cwd=where.root, text=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE)


def wait_until_it_trains(process: subprocess.Popen, ranks: int,
                         out: Path) -> dict[int, int]:
    """The ranks' processes."""
    while process.poll() is None:
        found = ranks_of(process.pid)
        log = out / "metrics.jsonl"
        if len(found) == ranks and log.exists() and log.stat().st_size:
            return found
        time.sleep(0.02)
    raise AssertionError(process.communicate()[1])


def ranks_of(parent: int) -> dict[int, int]:
    found = {}
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    for child in " ".join(task.read_text() for task in tasks).split():
        try:
            environment = Path(f"/proc/{child}/environ").read_bytes()
        except OSError:
            continue
        for word in environment.split(b"\0"):
            name, _, value = word.partition(b"=")
            if name == b"OMPI_COMM_WORLD_RANK":
                found[int(value)] = int(child)
    return found
