"""What it costs to simulate a cluster, in this machine's time."""

import os
import subprocess
from pathlib import Path
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.suite import marked
from lib.worker import WorkerError

# All examples are one batch of 64 workers, each of whom has so many or one more:
# alone, as many batches of these are the same work.
BATCH = 1437
EXAMPLES = BATCH // 64
EPOCHS = 60
# An epoch is one step of 64 workers: scores after each would be work of their
# own.
RARELY = ("--set", "train.eval_every=20")
MANY = 10_000


def train(where: Setting, name: str, *arguments: object) -> tuple[float, float]:
    """Processor seconds, and MiB at the peak, of training digits."""
    out = where.build / "bench" / f"rounds-{name}"
    command = [where.root / "bin/weft", "train",
               where.root / "recipes/digits.toml", "--json", "--out", out,
               "--threads", 1, *arguments]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise WorkerError(f"{Path(command[0]).name}: {said.strip()[-500:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def simulated(where: Setting, workers: int, *arguments: object,
              epochs: int) -> tuple[float, float]:
    return train(where, f"of{workers}", "--simulate",
                 f"{workers}@50us,100Mbit/s", "--set",
                 f"train.epochs={epochs}", *arguments)


def small(where: Setting) -> Bench:
    bar = Bar("digits, 64 simulated workers over computing alone", "seconds",
              1.3, at_most=True)

    def measure() -> dict:
        epochs = 10 if where.quick else EPOCHS
        pairs = []
        for _ in range(3):
            ours, _ = simulated(where, 64, "--set",
                                f"train.batch={BATCH}", *RARELY, epochs=epochs)
            alone, _ = train(where, "alone", "--set",
                             f"train.batch={EXAMPLES}", "--set",
                             f"train.epochs={epochs}", *RARELY)
            pairs.append((ours, alone))
        ratios = sorted(ours / alone for ours, alone in pairs)
        return {bar.name: {
            "ours": median(ours for ours, _ in pairs),
            "peer": median(alone for _, alone in pairs),
            "peer_name": "one worker, the same batches",
            "ratio": median(ratios), "low": ratios[0], "high": ratios[-1],
            "note": marked(where, f"{epochs} epochs, saved after each and "
                           f"measured after 20; {EXAMPLES} or "
                           f"{EXAMPLES + 1} examples of a "
                           f"worker in a step, alone {EXAMPLES}; processor time "
                           "of the whole command")}}

    return Bench((bar,), measure)


def large(where: Setting) -> Bench:
    time = Bar(f"digits, {MANY:,} simulated workers, 3 rounds: time", "seconds",
               600, at_most=True)
    # 8 GB.
    memory = Bar(f"digits, {MANY:,} simulated workers, 3 rounds: memory", "MiB",
                 8_000_000_000 // 2 ** 20, at_most=True)

    def measure() -> dict:
        seconds, mib = simulated(where, MANY, "--set", f"train.batch={MANY}",
                                 "--set", "sync.policy=local_sgd", epochs=3)
        return {time.name: {"ours": seconds, "ratio": seconds,
                            "note": "processor time of the whole command; a "
                            "batch is all 1,437 examples, so that as many "
                            "workers train and all meet"},
                memory.name: {"ours": mib, "ratio": mib,
                              "note": "at the peak; a model with gradients and "
                              "two averages of them is 0.6 MiB"}}

    return Bench((time, memory), measure)


def benches(where: Setting) -> list[Bench]:
    return [small(where), large(where)]
