#!/usr/bin/env python3
"""weft new: from a folder or a file to a recipe that trains."""

import random
import struct
import sys
import unittest
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import CliTest, run  # noqa: E402


def png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    rows = b"".join(b"\0" + bytes(colour) * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0,
                                         0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class NewTest(CliTest):
    def new(self, data: object, *more: object) -> str:
        self.recipe = self.folder / "new.toml"
        done = run("new", data, "-o", self.recipe, *more, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def test_pictures_of_several_sizes(self) -> None:
        chance = random.Random(1)
        for name, colour in (("red", (200, 30, 30)), ("blue", (20, 20, 220))):
            folder = self.folder / "colours" / name
            folder.mkdir(parents=True)
            for i in range(20):
                size = chance.randrange(30, 40)
                (folder / f"{i}.png").write_bytes(png(size, 33, colour))
        said = self.new(self.folder / "colours", "--no-train")
        self.assertIn("32 pictures of 32 x 32, coloured, in 2 classes", said)
        text = self.recipe.read_text()
        self.assertIn("height = 32", text)
        self.assertIn('"flip"', text)
        told = self.json_of("train", self.recipe, "--set", "train.epochs=2",
                            "--out", self.folder / "run")
        self.assertEqual(told["epochs"], 2)
        self.assertEqual(
            self.json_of("predict", self.folder / "run",
                         self.folder / "colours/red/3.png")["classes"].keys(),
            {"red", "blue"})

    def test_a_table(self) -> None:
        rows = "".join(f"{i % 7},{'ab'[i % 2]},{3 * (i % 7) + 0.5 * (i % 2)}\n"
                       for i in range(200))
        table = self.write("prices.csv", "size,kind,price\n" + rows)
        said = self.new(table)  # and trains
        self.assertIn("160 rows of 2 columns, 1 of them categories", said)
        self.assertIn("to be told: price, a number", said)
        self.assertIn("best rmse", said.replace("mae", "rmse"))
        self.assertIn('name = "regression"', self.recipe.read_text())

    def test_a_text(self) -> None:
        text = self.write("poem.txt", "the rose is red, the violet blue.\n" * 300)
        said = self.new(text, "--no-train")
        self.assertIn("different ones", said)
        told = self.json_of("train", self.recipe, "--set", "train.epochs=1",
                            "--out", self.folder / "run")
        self.assertLess(told["test_loss"], 3)

    def test_refusals(self) -> None:
        self.refuse("new", self.folder / "none", parts=("is not there",))
        self.refuse("new", self.folder, parts=("no data that a reader knows",
                                               ".csv"))
        table = self.write("t.csv", "a,label\n1,x\n2,y\n3,x\n4,y\n5,x\n6,y\n")
        written = self.write("t.toml", "")
        self.refuse("new", table, "-o", written,
                    parts=("stands there already",))


if __name__ == "__main__":
    sys.exit(unittest.main())
