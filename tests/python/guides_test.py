"""The examples of the guides in Python run as they are printed."""

import re
import unittest
from pathlib import Path

GUIDES = Path(__file__).resolve().parents[2] / "docs/guides"


class Guides(unittest.TestCase):
    def test_transformations(self):
        text = (GUIDES / "transformations.md").read_text()
        examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertGreater(len(examples), 3)
        names = {}  # later examples use what earlier ones made
        for example in examples:
            exec(compile(example, "transformations.md", "exec"), names)


if __name__ == "__main__":
    unittest.main()
