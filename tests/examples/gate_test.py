#!/usr/bin/env python3
"""The gate of examples/gate, in a git repository that people push to, and as a
job of a workflow."""

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from weft import BIN, ROOT, CliTest  # noqa: E402

EXAMPLE = ROOT / "examples" / "gate"
POINTS = 8000
# git of the test looks at nothing of the user's.
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
       "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}


def label(point: int) -> str:
    return "cat" if point % 3 else "dog"


def predictions(accuracy: float) -> str:
    """Right on the points whose place by a hash is below."""
    lines = ["id,prediction"]
    for point in range(POINTS):
        is_right = point * 7919 % POINTS < accuracy * POINTS
        lines.append(f"{point},{label(point) if is_right else 'cow'}")
    return "\n".join(lines) + "\n"


# Halfway between what is too little better and what is too different: which
# points are drawn is chance, and a model near an end fails now and then.
BETTER = 0.86


class GateExampleTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        # The server's side, where the owner works.
        self.server = self.folder / "gate"
        self.server.mkdir()
        shutil.copy(EXAMPLE / "gate.toml", self.server)
        (self.server / "points.csv").write_text(
            "id\n" + "".join(f"{point}\n" for point in range(POINTS)))
        (self.folder / "first.csv").write_text(predictions(0.8))
        self.gate = self.server / "gate.toml"
        self.succeed("gate", "key", self.server / "gate.key")
        self.succeed("gate", "init", self.gate, "--old",
                     self.folder / "first.csv")

    def git(self, *words: object, folder: Path) -> subprocess.CompletedProcess:
        return subprocess.run(["git", *map(str, words)], cwd=folder, text=True,
                              env={**os.environ, **GIT, "WEFT": str(BIN)},
                              capture_output=True, timeout=60)

    def repository(self) -> tuple[Path, Path]:
        bare, work = self.folder / "models.git", self.folder / "work"
        self.git("init", "--bare", "-b", "main", bare, folder=self.folder)
        self.git("config", "weft.gate", self.gate, folder=bare)
        self.git("config", "weft.model", "model.csv", folder=bare)
        shutil.copy(EXAMPLE / "pre-receive", bare / "hooks")
        self.git("clone", bare, work, folder=self.folder)
        return bare, work

    def push(self, work: Path, accuracy: float) -> subprocess.CompletedProcess:
        (work / "model.csv").write_text(predictions(accuracy))
        self.git("checkout", "-B", "main", folder=work)
        self.git("add", "model.csv", folder=work)
        self.git("commit", "-m", f"model {accuracy}", folder=work)
        return self.git("push", "--force", "origin", "main", folder=work)

    def answer_requests(self) -> None:
        for request in (self.server / "requests").glob("*.request.csv"):
            answer = request.with_name(
                request.name.replace(".request.", ".labels."))
            ids = request.read_text().split()[1:]
            answer.write_text("id,label\n" + "".join(
                f"{point},{label(int(point))}\n" for point in ids))

    def head(self, bare: Path) -> str:
        return self.git("show", "-s", "--format=%s", "main",
                        folder=bare).stdout.strip()

    def test_main_takes_better_models_only(self) -> None:
        bare, work = self.repository()
        # People label first.
        pushed = self.push(work, 0.81)
        self.assertNotEqual(pushed.returncode, 0)
        self.assertIn("push again once the labels are there", pushed.stderr)
        self.answer_requests()
        pushed = self.git("push", "origin", "main", folder=work)
        self.assertNotEqual(pushed.returncode, 0)
        self.assertIn("remote: failed", pushed.stderr)
        self.assertEqual(self.head(bare), "")

        self.push(work, BETTER)
        self.answer_requests()
        pushed = self.git("push", "origin", "main", folder=work)
        self.assertEqual(pushed.returncode, 0, pushed.stderr)
        self.assertIn("remote: passed", pushed.stderr)
        self.assertIn("used up", pushed.stderr)
        self.assertEqual(self.head(bare), "model 0.86")
        # Developers have seen no number.
        self.assertIsNone(re.search(r"0\.\d\d\d", pushed.stderr))

        # The set is used up, so that nobody is let in any more.
        pushed = self.push(work, 0.95)
        self.assertNotEqual(pushed.returncode, 0)
        self.assertIn("weft gate init", pushed.stderr)
        self.assertEqual(self.head(bare), "model 0.86")
        self.succeed("ledger", "verify", self.server / "gate.ledger")

    def test_other_branches_are_free(self) -> None:
        _, work = self.repository()
        (work / "model.csv").write_text(predictions(0.1))
        self.git("checkout", "-B", "idea", folder=work)
        self.git("add", "model.csv", folder=work)
        self.git("commit", "-m", "idea", folder=work)
        pushed = self.git("push", "origin", "idea", folder=work)
        self.assertEqual(pushed.returncode, 0, pushed.stderr)

    def test_the_workflow_ends_with_the_verdict(self) -> None:
        text = (EXAMPLE / "workflow.yml").read_text()
        (command,) = re.findall(r"run: (.*)", text)
        (self.folder / "model.csv").write_text(predictions(0.81))
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "weft").symlink_to(BIN)

        def job() -> int:
            return subprocess.run(
                ["bash", "-e", "-c", command.replace("model.weft",
                                                     "model.csv")],
                cwd=self.folder, capture_output=True, timeout=60,
                env={**os.environ, "WEFT_GATE": str(self.gate),
                     "PATH": f"{tools}:{os.environ['PATH']}"}).returncode

        self.assertEqual(job(), 3)
        self.answer_requests()
        self.assertEqual(job(), 1)
        (self.folder / "model.csv").write_text(predictions(BETTER))
        self.assertEqual(job(), 3)
        self.answer_requests()
        self.assertEqual(job(), 0)


if __name__ == "__main__":
    unittest.main()
