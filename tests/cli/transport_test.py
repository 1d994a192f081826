#!/usr/bin/env python3
"""Workers that are processes and meet over TCP: --transport "tcp(…)"."""

import json
import os
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import (BIN, DIGITS, KEY, ROOT, CliTest,  # noqa: E402
                  free_port, run)

NO_KEY = {name: value for name, value in os.environ.items()
          if name != "WEFT_KEY"}
SHORT = ("--set", "train.epochs=3", "--set", 'sync.topology="2@20us,1GB/s"')


class TransportTest(CliTest):
    def train(self, out: str, *arguments: str) -> list[str]:
        return [str(BIN), "train", str(DIGITS), "--out",
                str(self.folder / out), *arguments]

    def start(self, rank: int, port: int, options: str = "",
              arguments: tuple = (*SHORT, "--json"),
              environment: dict = KEY) -> subprocess.Popen:
        return self.start_weft(
            *self.train(f"rank{rank}", "--threads", "1", "--transport",
                        f"tcp(127.0.0.1:{port}, rank={rank}{options})",
                        *arguments)[1:], env=environment)

    def losses(self, out: str) -> list[tuple]:
        """What each epoch came to, without times."""
        rows = map(json.loads, (self.folder / out / "metrics.jsonl")
                   .read_text().splitlines())
        return [(row["epoch"], row["train_loss"], row["test_loss"])
                for row in rows]

    def test_two_processes_train_what_two_threads_do(self) -> None:
        run(*self.train("threads", "--workers", "2", "--threads", "2",
                        *SHORT)[1:], check=True)
        for environment in (KEY, NO_KEY):
            port = free_port()
            second = self.start(1, port, environment=environment)
            first = self.start(0, port, environment=environment)
            result = json.loads(self.finish(first))
            self.assertEqual(self.finish(second), "")
            self.assertEqual(result["workers"], 2)
            self.assertGreater(result["bytes_sent_per_step"], 38282 * 4)
            self.assertEqual(self.losses("rank0"), self.losses("threads"))
            self.assertEqual(self.tensors("rank0/best.safetensors"),
                             self.tensors("threads/best.safetensors"))

    def test_a_lost_rank_is_named_with_what_waited_for_it(self) -> None:
        port = free_port()
        endless = ("--set", "train.epochs=100000", "--set",
                   "sync.collective=ring")
        second = self.start(1, port, arguments=endless)
        first = self.start(0, port, arguments=endless)
        for line in first.stderr:
            if line.startswith("epoch"):
                break
        second.send_signal(signal.SIGKILL)
        _, errors = first.communicate(timeout=120)
        self.assertEqual(first.returncode, 2, errors)
        self.assertIn("weft: rank 1: is lost: its connection", errors)
        self.assertRegex(errors, r"waiting to (hear|send) rank 1 \d+ bytes, in "
                         r"(all_reduce\(ring\) of f32\[\d+\]|(sum|gather|"
                         r"broadcast) of \w+)")

    def test_another_key_is_refused_on_both_sides(self) -> None:
        port = free_port()
        first = self.start(0, port, ", timeout=300s")
        wrong = {**KEY, "WEFT_KEY": "x" * 64}
        second = self.start(1, port, environment=wrong)
        _, errors = second.communicate(timeout=120)
        self.assertEqual(second.returncode, 2, errors)
        self.assertIn("declines rank 0 at 127.0.0.1", errors)
        self.assertIn("its key is another one", errors)
        self.assertIn("hint: give every rank the same key", errors)
        said = first.stderr.readline()
        self.assertRegex(said, r"weft: turned 127\.0\.0\.1:\d+ away: .*its key "
                         "is another one")
        # It has gone on waiting for the right one.
        right = self.start(1, port)
        self.finish(first)
        self.finish(right)

    def test_what_cannot_be_safe_is_refused(self) -> None:
        def refuse(options: str, *parts: str, environment: dict = NO_KEY):
            done = run(*self.train("run", "--transport", options)[1:],
                       env=environment)
            self.assertEqual(done.returncode, 2, done.stderr)
            for part in parts:
                self.assertIn(part, done.stderr)

        refuse("tcp(10.0.0.1:7070)", "'tcp' declines 10.0.0.1:7070",
               "without a key", "openssl rand -hex 32", "key=./run.key",
               "127.0.0.1")
        # What is advised there can be read, wherever the file is.
        refuse("tcp(10.0.0.1:7070, key=./run.key)", "./run.key",
               "No such file")
        refuse("tcp(10.0.0.1:7070)", "WEFT_KEY: the key has 5 bytes",
               environment={**KEY, "WEFT_KEY": "short"})
        key = self.write("run.key", "k" * 64)
        key.chmod(0o644)
        refuse(f"tcp(127.0.0.1:7070, key={key})", str(key), "chmod 600")
        refuse("tcpp(127.0.0.1:7070)", "did you mean 'tcp'?")
        refuse("tcp(127.0.0.1:7070, rnak=1)", "did you mean 'rank'?")
        refuse("mpi", "no launcher has started it", "mpirun -n 4")

    def test_one_question_has_one_answer(self) -> None:
        tcp = ("--transport", "tcp(127.0.0.1:7070)")
        for more, part in (
                (("--workers", "2"), "--transport says what the workers are"),
                (("--simulate", "2@50us,100Mbit/s"), "leave out --transport"),
                (("--set", "optimizer.lr=0.1,0.2"), "share the cores")):
            self.refuse(*self.train("run", *tcp, *more)[1:], parts=(part,))

    def test_threads_are_a_transport_too(self) -> None:
        for out, arguments in (("a", ("--workers", "2")),
                               ("b", ("--transport", "thread(2)"))):
            run(*self.train(out, *arguments, "--threads", "2", *SHORT)[1:],
                check=True)
        self.assertEqual(self.losses("a"), self.losses("b"))

    def test_each_says_whom_it_trusts(self) -> None:
        """Help, doctor and the page say the same."""
        listed = json.loads(self.succeed("train", "--help", "transport",
                                         "--json"))
        trust = {each["name"]: each["trust"] for each in listed}
        self.assertLessEqual({"mpi", "tcp", "thread"}, set(trust))
        self.assertEqual(self.json_of("doctor")["transports"], trust)
        page = re.sub(r"\s+", " ", (ROOT / "docs/networks.md").read_text())
        for name, sentence in trust.items():
            self.assertTrue(f"| `{name}` |" in page, name)
            self.assertTrue(sentence in page, sentence)
        one = self.succeed("train", "--help", "tcp")
        self.assertIn(trust["tcp"], one)
        self.assertIn("timeout = 60", one)
        self.assertNotIn(trust["mpi"], one)


if __name__ == "__main__":
    sys.exit(unittest.main())
