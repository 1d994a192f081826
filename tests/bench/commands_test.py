#!/usr/bin/env python3
"""The suite of the two commands, on a repository whose commands take no time."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lib.bench import Setting  # noqa: E402
from lib.peers import Peers  # noqa: E402
from lib.row import Row  # noqa: E402
from suites import commands  # noqa: E402

# The first leaves behind what the second asks for: they share a clone.
FIRST = ('echo "$@" > asked; test -z "$WEFT_DATA"; test ! -e "$CCACHE_DIR"\n'
         'echo "best accuracy 0.99 at epoch 3, cap ${WEFT_CPU:-none}"')
TEST = ('[ "$(cat asked)" = "train recipes/digits.toml" ] || exit 3\n'
        'echo "7 passed, 0 failed"')


class CommandsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def commit(self, first: str, test: str) -> None:
        (self.root / "bin").mkdir()
        for name, script in (("bin/weft", first), ("test", test)):
            path = self.root / name
            path.write_text(f"#!/bin/sh\nset -e\n{script}\n")
            path.chmod(0o755)
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "-q"], ["add", "."],
                      [*identity, "commit", "-qm", "All"]):
            subprocess.run(["git", "-C", self.root, *words], check=True)

    def rows(self) -> list[Row]:
        where = Setting(self.root, self.root / "build", None,
                        Peers(self.root / "peers"), threads=1)
        outside = {"WEFT_DATA": "/data", "CCACHE_DIR": str(self.root)}
        with mock.patch.dict(os.environ, outside):
            return [row for bench in commands.benches(where)
                    for row in bench.rows("commands", lambda name: True)]

    def test_both_run_in_one_clone_with_empty_caches(self) -> None:
        self.commit(FIRST, TEST)
        (self.root / "test").write_text("exit 9")  # not committed
        rows = self.rows()
        self.assertEqual([row.error for row in rows], [""] * 4)
        self.assertTrue(all(row.holds for row in rows))
        self.assertIn("at epoch 3, cap none", rows[0].note)
        self.assertIn("7 passed, 0 failed", rows[1].note)
        self.assertIn("at epoch 3, cap avx2", rows[2].note)

    def test_what_fails_is_an_error_with_its_words(self) -> None:
        self.commit(FIRST, "echo '6 passed, 1 failed'; exit 1")
        for row in self.rows():
            self.assertFalse(row.holds)
            self.assertIn("6 passed, 1 failed", row.error)

    def test_what_says_nothing_has_not_been_done(self) -> None:
        self.commit(FIRST, "exit 0")
        self.assertIn("no line has", self.rows()[1].error)


if __name__ == "__main__":
    unittest.main()
