"""Every block of code in the documentation does what its page says, or a
comment before it tells why that is not tried (page_blocks.py)."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from page_blocks import Block, blocks_of
from page_runner import ROOT, Failed, Reader, compare

LANGUAGES = {"python", "sh", "console", "toml", "text"}


def pages() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard",
         "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [page for page in listed.stdout.splitlines()
            if page != "CHANGELOG.md"]


def is_tried(block: Block) -> bool:
    return not block.notes.keys() & {"not run", "run by"}


def read(page: str) -> None:
    """Types all blocks of a page."""
    blocks = [block for block in blocks_of((ROOT / page).read_text())
              if is_tried(block)]
    if all(block.kind == "text" for block in blocks):
        return
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="weft-page-") as folder:
        os.chdir(folder)
        reader = Reader(page, Path(folder))
        try:
            for block in blocks:
                try:
                    reader.run(block)
                except Failed as failed:
                    raise AssertionError(f"{page}:{block.line}: {failed}")
        finally:
            reader.close()
            os.chdir(before)


class Pages(unittest.TestCase):
    def test_blocks_are_tried_or_say_why_not(self) -> None:
        for page in pages():
            for block in blocks_of((ROOT / page).read_text()):
                place = f"{page}:{block.line}"
                if "run by" in block.notes:
                    path = ROOT / block.notes["run by"]
                    self.assertTrue(path.is_file(), place)
                elif is_tried(block) and "file" not in block.notes:
                    self.assertIn(block.kind, LANGUAGES, place)

    def test_what_is_wrong_is_found(self) -> None:
        for text, says in (("weft tarin\n", "tarin"),
                           ("$ weft --version\nweft 1 or so\n", "or so"),
                           ("[model]\nname = 'nobody'\n", "nobody"),
                           ("$ weft --version\nweft: no\n", "succeeded")):
            (block,) = blocks_of("".join(
                f"    {line}\n" for line in text.splitlines()))
            with tempfile.TemporaryDirectory() as folder:
                reader = Reader("page", Path(folder))
                self.addCleanup(reader.close)
                with self.assertRaisesRegex(Failed, says):
                    reader.run(block)

    def test_blocks_have_their_kinds_and_notes(self) -> None:
        page = ("text\n    goes on\n\n    weft doctor\n\n    weft ops\n\n"
                "<!-- not run: takes\nlong -->\n```python\nx = 1\n\n    y\n"
                "```\n\n<!-- run: ls -->\n\n    [sync]\n    a = 1\n")
        self.assertEqual(
            [(block.kind, block.text, block.notes)
             for block in blocks_of(page)],
            [("sh", "weft doctor\n\nweft ops\n", {}),
             ("python", "x = 1\n\n    y\n", {"not run": "takes long"}),
             ("sh", "ls\n", {}), ("toml", "[sync]\na = 1\n", {})])

    def test_output_may_have_other_numbers_and_more_lines(self) -> None:
        compare("", "loss 0.5 …\n…\ndone", "begin\nloss 1e-3 after 9 s\ndone")
        with self.assertRaises(Failed):
            compare("", "done\nloss 0.5", "loss 0.5\ndone")


for page in pages():
    name = "test_" + page.removesuffix(".md").replace("/", "_")
    setattr(Pages, name, lambda self, page=page: read(page))

if __name__ == "__main__":
    sys.exit(unittest.main())
