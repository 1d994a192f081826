#!/usr/bin/env python3
"""Every codec and collective under mpirun, and processes that are killed."""

import json
import os
import random
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import ROOT, CliTest, mpirun, start_mpirun  # noqa: E402

DIGITS = ROOT / "recipes" / "digits.toml"

# What [sync] can say: one of everything.
SETTINGS = [
    *(f"codec={codec}" for codec in (
        "none", "f16", "bf16", "int8", "qsgd(4)", "qsgd(bits=4, coding=elias)",
        "terngrad", "onebit", "3lc", "3lc(1.5)", "qsgd(8) | zstd", "deflate",
        "auto")),
    *(f"sparsify=topk(0.05) codec={codec}" for codec in (
        "none", "index:raw value:f16", "index:bitmap", "index:rle",
        "index:huffman", "index:delta", "index:bloom(policy=p0)",
        "index:bloom(policy=p1)", "index:bloom(policy=p2)",
        "index:bloom(policy=left)", "index:bloom(policy=p0) value:qsgd(7)",
        "value:fit-poly", "value:fit-dexp", "value:deflate",
        "index:delta(packing=huffman) value:sketch")),
    *(f"sparsify={sparsifier}" for sparsifier in (
        "topk(0.05, method=bucket)", "topk(0.05, method=sampled)",
        "randomk(0.1)", "threshold(0.01)")),
    *(f"collective={collective}" for collective in (
        "ring", "direct", "tree", "doubling", "rabenseifner",
        "rabenseifner(order=near)", "leaders(group=2)",
        "blueconnect([2, 2])", "blueconnect(factors=[2, 2], chunks=2)",
        "all_gather")),
    *(f"sparsify=topk(0.05) collective={collective}" for collective in (
        "recursive_double", "split_allgather", "dsar", "dsar(qsgd(4))",
        "gather_pairs", "all_gather", "auto(qsgd(4))")),
    *(f"sparsify=topk(0.05) memory={memory}" for memory in (
        "updates", "none")),
    *(f"policy=server codec={codec}" for codec in (
        "none", "f16", "int8", "qsgd(5)", "onebit", "3lc", "3lc(1.5)")),
    "policy=server sparsify=topk(0.05)",
    "overlap=false",
    "bucket_bytes=4096",
]


def options_of(setting: str) -> list[str]:
    """The words of a setting; a value may hold spaces before the next key."""
    keys = ("policy=", "codec=", "sparsify=", "collective=", "overlap=",
            "bucket_bytes=", "memory=")
    values: list[str] = []
    for word in setting.split(" "):
        if word.startswith(keys):
            values.append(word)
        else:
            values[-1] += " " + word
    return [part for value in values for part in ("--set", "sync." + value)]


class EveryCombinationTest(CliTest):
    def test_all_train_under_mpirun(self) -> None:
        for setting in SETTINGS:
            with self.subTest(setting):
                result = mpirun(4, [
                    "train", str(DIGITS), "--json", "--out",
                    str(self.folder / "run"), "--set", "train.epochs=2",
                    *options_of(setting)])
                self.assertEqual(result.returncode, 0, result.stderr)
                report = json.loads(result.stdout)
                self.assertEqual(report["workers"], 4)
                self.assertGreater(report["test_accuracy"], 0.2)


class KilledProcessesTest(CliTest):
    def command(self) -> list[str]:
        return ["train", str(DIGITS), "--out", str(self.folder / "run"),
                "--set", "train.checkpoint_every=20", "--set",
                "train.epochs=20", "--set", "sync.sparsify=topk(0.05)"]

    def workers_of(self, launcher: int) -> list[int]:
        listing = subprocess.run(["ps", "--ppid", str(launcher), "-o", "pid="],
                                 capture_output=True, text=True)
        return [int(word) for word in listing.stdout.split()]

    def wait_for_epoch(self, process: subprocess.Popen) -> None:
        """Until there is something to go on from."""
        said = ""
        for line in process.stderr:
            said += line
            if line.startswith("epoch"):
                return
        self.fail(f"ended before it was killed:\n{said}")

    def test_a_killed_worker_ends_all_and_the_run_goes_on(self) -> None:
        chance = random.Random(1)
        for ranks in (4, 3, 4, 2):
            process = start_mpirun(ranks, [*self.command(), "--resume"])
            self.wait_for_epoch(process)
            os.kill(chance.choice(self.workers_of(process.pid)),
                    signal.SIGKILL)
            process.communicate(timeout=120)
            self.assertNotEqual(process.returncode, 0)
        result = mpirun(2, [*self.command(), "--resume", "--json"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(json.loads(result.stdout)["test_accuracy"], 0.95)


if __name__ == "__main__":
    sys.exit(unittest.main())
