"""Runs the built command line."""

import json
import os
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("WEFT_BIN", ROOT / "build" / "bin" / "weft"))
DIGITS = ROOT / "recipes" / "digits.toml"
SAMPLE = ROOT / "data" / "digits" / "sample.png"


def run(*arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(BIN), *map(str, arguments)],
                          capture_output=True, text=True, timeout=300,
                          **{"cwd": ROOT, **options})


def free_port() -> int:
    """A port of this machine at which nobody listens."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


KEY = {**os.environ, "WEFT_KEY": "a key of tests that everybody may know"}
# mpirun refuses root unless it is told twice.
MPI_ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def start_mpirun(ranks: int, arguments: list[str]) -> subprocess.Popen:
    # Where one rank has died, mpirun waits for so long before it ends the
    # others, and for so long again before it kills them. The one second that
    # it has by itself is too little where tests share their cores.
    patience = ["--mca", "odls_base_sigkill_timeout", "3"]
    return subprocess.Popen(
        ["mpirun", "--oversubscribe", *patience, "-n", str(ranks), str(BIN),
         *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        env=MPI_ENVIRONMENT)


def mpirun(ranks: int, arguments: list[str]) -> subprocess.CompletedProcess:
    process = start_mpirun(ranks, arguments)
    output, errors = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode,
                                       output, errors)


class CliTest(unittest.TestCase):
    """Each test has an empty folder of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="weft-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start_weft(self, *arguments: str, env: dict) -> subprocess.Popen:
        """Goes on by itself, and is killed when the test is over."""
        process = subprocess.Popen(
            [str(BIN), *arguments], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=ROOT, env=env)
        self.addCleanup(self.end, process)
        return process

    def end(self, process: subprocess.Popen) -> None:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()

    def finish(self, process: subprocess.Popen) -> str:
        """What it says on standard output, once it has ended well."""
        output, errors = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, errors)
        return output

    def tensors(self, checkpoint: str) -> bytes:
        """What is behind its header, which has times in it."""
        file = (self.folder / checkpoint).read_bytes()
        return file[8 + int.from_bytes(file[:8], "little"):]

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def succeed(self, *arguments: object, **options) -> str:
        done = run(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def json_of(self, *arguments: object) -> dict:
        """The one object on standard output, and nothing else there."""
        output = self.succeed(*arguments, "--json")
        self.assertEqual(output.count("\n"), 1, output)
        return json.loads(output)

    def refuse(self, *arguments: object, parts: tuple = (),
               code: int = 2) -> str:
        """The command must fail with `code` and say each of `parts`."""
        done = run(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertTrue(done.stderr.startswith("weft: "), done.stderr)
        self.assertEqual(done.stdout, "")
        for part in parts:
            self.assertIn(part, done.stderr)
        return done.stderr

    def train_command(self, out: str, *more: object) -> list[str]:
        """A short run on the digits: two epochs of 12 steps."""
        return [str(word) for word in (
            "train", DIGITS, "--out", self.folder / out, "--set",
            "train.epochs=2", "--set", "train.batch=128", *more)]
