#!/usr/bin/env python3
"""What `weft train --help KEY` says, and docs/recipes.md, which is made of it."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import ROOT, CliTest  # noqa: E402


class RecipeHelp(CliTest):
    def test_a_key_says_what_it_may_be(self) -> None:
        said = self.succeed("train", "--help", "train.eval_every")
        self.assertIn("train.eval_every = 1", said)
        self.assertIn("integer, in [1, 1099511627776], in epochs", said)

    def test_a_key_of_several_entries_names_them(self) -> None:
        said = self.succeed("train", "--help", "optimizer.momentum")
        self.assertIn("(of momentum)", said)
        self.assertIn("(of lars)", said)

    def test_a_key_says_what_it_may_call_by_its_name_alone(self) -> None:
        said = self.succeed("train", "--help", "codec")
        self.assertIn('sync.codec = "none"', said)
        self.assertIn("    value:qsgd: random rounding", said)
        self.assertIn("        bits = 8: of a value, sign and all (integer, in "
                      "[2, 8], in bits)", said)
        self.assertIn("    server: owners of parameters",
                      self.succeed("train", "--help", "policy"))

    def test_a_name_says_where_it_stands_and_its_options(self) -> None:
        said = self.succeed("train", "--help", "qsgd")
        self.assertTrue(said.startswith("qsgd   (value codec, in sync.codec)\n"))
        self.assertIn('    norm = "l2": which levels are shares of (l2, max)', said)
        self.assertIn("radius = 1", self.succeed("train", "--help", "ball"))
        self.assertIn("(of momentum)", self.succeed("train", "--help", "momentum"))

    def test_a_kind_lists_its_names(self) -> None:
        for kind in ("all_reduce", "all-reduce"):
            said = self.succeed("train", "--help", kind)
            self.assertIn("ring   (all-reduce, in sync.collective)", said)
            self.assertIn("    group = 1: how many a machine has (integer, in [1, "
                          "1048576], in ranks)", said)
            self.assertNotIn("dsar", said)
        calls = json.loads(self.succeed("train", "--help", "value_codec", "--json"))
        self.assertLessEqual({"value:qsgd", "value:3lc", "value:none"},
                             {call["name"] for call in calls})

    def test_unknown_keys_are_refused_with_the_nearest(self) -> None:
        for wrong, right in (("train.bach", "train.batch"), ("qsgt", "qsgd"),
                             ("value_codek", "value_codec")):
            self.refuse("train", "--help", wrong,
                        parts=(f"did you mean '{right}'?",))

    def test_every_section_is_listed(self) -> None:
        keys = json.loads(self.succeed("train", "--help", "recipe", "--json"))
        sections = {key["key"].split(".")[0] for key in keys}
        self.assertLessEqual({"model", "task", "data", "optimizer", "train",
                              "sync", "log"}, sections)
        self.assertTrue(all(key["summary"] for key in keys))

    def test_the_verb_keeps_its_own_help(self) -> None:
        self.assertIn("--resume", self.succeed("train", "--help"))

    def test_the_page_is_up_to_date(self) -> None:
        done = subprocess.run([sys.executable,
                               ROOT / "tools/make_recipes_page.py", "--check"])
        self.assertEqual(done.returncode, 0, "run tools/make_recipes_page.py")


if __name__ == "__main__":
    unittest.main()
