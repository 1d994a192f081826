#!/usr/bin/env python3
"""What bash completes after `source <(weft completion bash)`."""

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import BIN, CliTest  # noqa: E402


class CompletionTest(CliTest):
    def completed(self, *words: str) -> list[str]:
        script = (f"source <({BIN} completion bash); "
                  f"COMP_WORDS=({' '.join(repr(word) for word in words)}); "
                  f"COMP_CWORD={len(words) - 1}; _weft; "
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", script], capture_output=True,
                              text=True, check=True, cwd=self.folder)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_verbs(self) -> None:
        self.assertEqual(self.completed("weft", "tr"), ["train"])
        self.assertIn("inspect", self.completed("weft", ""))
        self.assertEqual(self.completed("weft", "inspect", "cod"), ["codec"])
        # Those that another program holds.
        self.assertEqual(self.completed("weft", "gate", "siz"), ["size"])
        self.assertIn("--condition",
                      self.completed("weft", "gate", "size", "--c"))

    def test_options_and_files(self) -> None:
        self.write("mine.toml", "")
        self.assertIn("--profile", self.completed("weft", "train", "--"))
        self.assertEqual(self.completed("weft", "train", "mi"), ["mine.toml"])
        self.write("my recipe.toml", "")
        self.assertEqual(self.completed("weft", "train", "my"),
                         ["my recipe.toml"])
        self.assertIn("--json",
                      self.completed("weft", "inspect", "codec", "x", "--j"))

    def test_keys_of_recipes(self) -> None:
        self.assertEqual(
            self.completed("weft", "train", "mine.toml", "--set", "train.ep"),
            ["train.epochs="])

    def test_other_shells(self) -> None:
        self.assertIn("bashcompinit", self.succeed("completion", "zsh"))
        fish = self.succeed("completion", "fish")
        self.assertIn("-a 'train'", fish)
        # Each line is one command, with all of its quotes closed.
        for line in fish.splitlines():
            self.assertEqual(line.count("'") % 2, 0, line)
        self.refuse("completion", "tcsh", parts=("SHELL",))


if __name__ == "__main__":
    sys.exit(unittest.main())
