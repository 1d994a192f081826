#!/usr/bin/env python3
"""A server that is a process of its own: killed, begun again, and with workers
that stall."""

import json
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import DIGITS, KEY, CliTest, free_port  # noqa: E402

# The last of all ranks is the server.
RANKS, SERVER = 3, 2
SETTINGS = ("sync.policy=server", "sync.servers=1",
            f'sync.topology="{RANKS}@20us,1GB/s"')


class ServersTest(CliTest):
    def start(self, out: str, *more: str) -> list[subprocess.Popen]:
        """A process for each rank; none knows the others' folders."""
        port = free_port()
        sets = [word for each in SETTINGS for word in ("--set", each)]
        return [self.start_weft(
            "train", str(DIGITS), "--out", str(self.folder / f"{out}{rank}"),
            "--threads", "1", "--transport",
            f"tcp(127.0.0.1:{port}, rank={rank}, ranks={RANKS})", *sets, *more,
            env=KEY) for rank in range(RANKS)]

    def wait_for_epoch(self, process: subprocess.Popen, epoch: int) -> None:
        said = ""
        for line in process.stderr:
            said += line
            if re.match(rf"epoch +{epoch}/", line):
                return
        self.fail(f"ended before epoch {epoch}:\n{said}")

    def finish_all(self, processes: list[subprocess.Popen]) -> None:
        for process in processes:
            self.finish(process)

    def test_a_killed_server_ends_all_and_the_run_goes_on(self) -> None:
        epochs = ("--set", "train.epochs=12", "--set",
                  "train.checkpoint_every=20")
        self.finish_all(self.start("whole", *epochs))
        cut = self.start("cut", *epochs)
        self.wait_for_epoch(cut[0], 1)
        cut[SERVER].kill()
        for rank in range(SERVER):
            _, errors = cut[rank].communicate(timeout=120)
            self.assertEqual(cut[rank].returncode, 2, errors)
            self.assertIn(f"rank {SERVER}: is lost", errors)
        self.finish_all(self.start("cut", *epochs, "--resume"))
        self.assertEqual(self.tensors("cut0/last.safetensors"),
                         self.tensors("whole0/last.safetensors"))

    def test_a_worker_that_stalls_holds_up_nobody(self) -> None:
        quorum = "server(quorum=1, deadline=0.001)"
        for run, policy, order in (("quorum", quorum, "backward"),
                                   ("slices", quorum, "p3"),
                                   ("async", "async_server", "backward")):
            with self.subTest(run):
                self.stall(run, policy, order)

    def stall(self, run: str, policy: str, order: str) -> None:
        # At the end of an epoch, and before a checkpoint, all meet: this one
        # has hundreds of steps.
        ranks = self.start(run, "--json", "--set", "train.epochs=1", "--set",
                           "train.batch=2", "--set", f"sync.order={order}",
                           "--set", f"sync.policy={policy}")
        self.wait_for_steps(ranks[0], run, 1)
        # Its clock goes on, and it does not.
        ranks[1].send_signal(signal.SIGSTOP)
        # More than credit for slices lasts for.
        self.wait_for_steps(ranks[0], run, self.steps(run) + 40)
        ranks[1].send_signal(signal.SIGCONT)
        self.assertEqual(json.loads(self.finish(ranks[0]))["epochs"], 1)
        self.finish_all(ranks[1:])

    def wait_for_steps(self, process: subprocess.Popen, out: str,
                       steps: int) -> None:
        while self.steps(out) < steps:
            if process.poll() is not None:
                self.fail(f"ended before step {steps}: {process.stderr.read()}")

    def steps(self, out: str) -> int:
        """What rank 0 has logged."""
        log = self.folder / f"{out}0/traffic.jsonl"
        return log.read_text().count("\n") if log.exists() else 0


if __name__ == "__main__":
    sys.exit(unittest.main())
