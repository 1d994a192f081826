#!/usr/bin/env python3
"""Killed, interrupted, out of disk: what a run leaves behind."""

import ctypes
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import BIN, ROOT, CliTest, run  # noqa: E402

IN_MOVED_TO = 0x80
KILLS = 7


class RenameWatch:
    """Counts files that take their place in a folder: every checkpoint is
    one rename of its tensors and one of its JSON."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init()
        self._libc.inotify_add_watch(self._descriptor,
                                     str(folder).encode(), IN_MOVED_TO)

    def wait(self, name: str, count: int) -> None:
        """Blocks until `count` files called `name` have appeared."""
        while count > 0:
            events = os.read(self._descriptor, 4096)
            while events:
                _, _, _, length = struct.unpack_from("iIII", events)
                found = events[16:16 + length].rstrip(b"\0").decode()
                count -= found == name
                events = events[16 + length:]

    def close(self) -> None:
        os.close(self._descriptor)


def weights(folder: Path, name: str = "last") -> bytes:
    raw = (folder / f"{name}.safetensors").read_bytes()
    return raw[8 + int.from_bytes(raw[:8], "little"):]


class InterruptionTest(CliTest):
    def start(self, out: str, *more: object) -> subprocess.Popen:
        command = self.train_command(out, "--set", "train.checkpoint_every=2",
                                     "--set", "train.epochs=4", *more)
        return subprocess.Popen([BIN, *command], cwd=ROOT, text=True,
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    def finish(self, process: subprocess.Popen) -> None:
        _, errors = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, errors)

    def test_before_an_epoch_no_model_is_the_best(self) -> None:
        self.finish(self.start("whole"))
        best = self.folder / "whole" / "best.safetensors"
        self.assertIn(str(best), self.succeed("inspect", best.parent))
        out = self.folder / "begun"
        watch = RenameWatch(out)
        process = self.start("begun", "--set", "train.batch=8")
        watch.wait("last.safetensors", 1)
        process.kill()
        process.communicate()
        watch.close()
        # Older versions left there what an earlier run had called its best.
        shutil.copy(best, out)
        for verb in ("inspect", "eval"):
            self.refuse(verb, out, parts=("no epoch", "last.safetensors"))

    def test_killed_anywhere_it_resumes_bit_for_bit(self) -> None:
        self.finish(self.start("whole"))
        out = self.folder / "killed"
        kills = 0
        for number in range(KILLS):
            watch = RenameWatch(out)
            process = self.start("killed", "--resume")
            # Right behind a checkpoint's rename, with its JSON, the metrics
            # or the next steps under way: another moment each time.
            watch.wait("last.safetensors", 1 + number % 3)
            process.kill()
            _, errors = process.communicate()
            kills += process.returncode == -signal.SIGKILL
            watch.close()
        self.assertGreaterEqual(kills, 5)
        self.finish(self.start("killed", "--resume"))
        for name in ("last", "best"):
            self.assertEqual(weights(out, name),
                             weights(self.folder / "whole", name), name)
        self.assertEqual(sorted(p.name for p in out.iterdir()),
                         sorted(p.name for p in
                                (self.folder / "whole").iterdir()))

    def test_interrupt_leaves_a_checkpoint(self) -> None:
        self.finish(self.start("whole"))
        out = self.folder / "stopped"
        watch = RenameWatch(out)
        process = self.start("stopped")
        watch.wait("last.safetensors", 1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
        watch.close()
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("--resume", errors)
        self.assertTrue((out / "last.safetensors").is_file())
        self.finish(self.start("stopped", "--resume"))
        self.assertEqual(weights(out), weights(self.folder / "whole"))

    def test_full_disk_leaves_the_previous_checkpoint(self) -> None:
        self.succeed(*self.train_command("run"))
        out = self.folder / "run"
        before = weights(out)

        def small_files() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        done = run(*self.train_command("run", "--set", "train.epochs=3",
                                       "--resume"), preexec_fn=small_files)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("weft: ", done.stderr)
        self.assertIn("safetensors", done.stderr)
        self.assertEqual(weights(out), before)
        self.assertFalse([p for p in out.iterdir() if "tmp" in p.name])

    def test_nan_stops_and_says_where(self) -> None:
        wild = ("--set", "optimizer.name=sgd", "--set", "optimizer.lr=1e30")
        text = self.refuse_run(*wild)
        self.assertIn("step", text)
        self.assertIn("--check-numerics", text)
        text = self.refuse_run(*wild, "--check-numerics")
        self.assertRegex(text, r"in: step \d+ \(epoch 1")
        self.assertIn("layer", text)

    def refuse_run(self, *more: str) -> str:
        done = run(*self.train_command("wild", *more))
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr


if __name__ == "__main__":
    sys.exit(unittest.main())
