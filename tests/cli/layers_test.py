#!/usr/bin/env python3
"""What `weft layers` says, and docs/layers.md, which is made of it."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import DIGITS, ROOT, CliTest  # noqa: E402


class LayersTest(CliTest):
    def test_all_are_listed(self) -> None:
        said = self.succeed("layers")
        self.assertIn("conv2d ", said)
        listed = json.loads(self.succeed("layers", "--json"))
        self.assertEqual([layer["name"] for layer in listed],
                         [line.split()[0] for line in said.splitlines()])
        self.assertTrue(all(option["summary"] for layer in listed
                            for option in layer["options"]))

    def test_one_says_what_it_takes(self) -> None:
        said = self.succeed("layers", "max-pool")
        self.assertIn("[height, width, channels] ->", said)
        self.assertIn("window = 2", said)
        self.refuse("layers", "maxpool", parts=("did you mean 'max-pool'?",))

    def test_a_recipe_is_refused_with_the_place(self) -> None:
        def layers(text: str) -> tuple[str, ...]:
            return ("train", DIGITS, "--set",
                    f'model={{name = "sequential", layers = {text}}}')

        self.refuse(*layers('["relu", "conv2d(16, kernal=5)"]'),
                    parts=("did you mean 'kernel'?", "at: layers.1",
                           "in: model.layers, command line"))
        self.refuse(*layers('["flatten", "conv2d(16)"]'),
                    parts=("layers.1, conv2d", "[height, width, channels]",
                           "f32[64]", "what takes it"))

    def test_the_page_is_up_to_date(self) -> None:
        done = subprocess.run([sys.executable,
                               ROOT / "tools/make_layers_page.py", "--check"])
        self.assertEqual(done.returncode, 0, "run tools/make_layers_page.py")


if __name__ == "__main__":
    unittest.main()
