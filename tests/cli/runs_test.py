#!/usr/bin/env python3
"""weft runs: what was trained, as a list, side by side, and as a picture."""

import json
import struct
import sys
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import CliTest, run  # noqa: E402


class RunsTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        run(*self.train_command("all", "--set", "optimizer.lr=1e30,0.01,0.001",
                                "--threads", 1))
        self.names = [self.folder / "all" / f"optimizer.lr={rate}"
                      for rate in ("0.01", "0.001")]

    def test_lists(self) -> None:
        rows = self.succeed("runs", self.folder).splitlines()
        self.assertEqual(rows[0].split(), ["run", "recipe", "task", "epochs",
                                           "best", "when", "state"])
        self.assertRegex(rows[1], r"^all/optimizer.lr=0.001 +digits +"
                         r"classification +2/2 +accuracy 0\.\d{4} +"
                         r"\d{4}-\d\d-\d\d \d\d:\d\d +done$")
        self.assertRegex(rows[3], r"0/2 +- .*failed: train: the loss is")
        listed = self.json_of("runs", self.folder)["runs"]
        self.assertEqual([each["state"] for each in listed],
                         ["done", "done", "failed"])
        self.assertGreater(listed[0]["best"], 0.1)
        # One that is damaged does not hide the others.
        (self.names[0] / "run.json").write_text("{")
        rows = self.succeed("runs", self.folder).splitlines()
        self.assertEqual(len(rows), 4)
        self.assertIn("damaged", rows[2])

    def test_compares(self) -> None:
        rows = self.succeed("runs", "compare", *self.names).splitlines()
        self.assertEqual(rows[0], "accuracy on held-out data")
        self.assertEqual(rows[3].split(), ["epoch", "A", "B"])
        with (self.names[0] / "metrics.jsonl").open() as file:
            second = [json.loads(line) for line in file][1]
        self.assertEqual(rows[5].split()[:2],
                         ["2", f"{second['test_accuracy']:.4f}"])
        self.assertEqual([row.split()[0] for row in rows[4:]],
                         ["1", "2", "best", "at", "time"])
        self.assertIn("loss on", self.succeed("runs", "compare", *self.names,
                                              "--metric", "loss"))

    def test_draws(self) -> None:
        svg, png = self.folder / "curves.svg", self.folder / "curves.png"
        for picture in (svg, png):
            self.succeed("runs", "plot", *self.names, "-o", picture)
        # It is XML, and names both runs.
        texts = [each.text for each in ElementTree.parse(svg).iter()
                 if each.tag.endswith("text")]
        for name in self.names:
            self.assertIn(str(name), texts)
        self.assertIn("epoch", texts)
        head = png.read_bytes()[:24]
        self.assertEqual(head[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">I", head[16:20])[0], 2 * 784)
        self.succeed("runs", "plot", self.names[0], "-o", svg, "--over",
                     "time")
        self.assertIn("training time, s", svg.read_text())

    def test_refuses(self) -> None:
        failed = self.folder / "all" / "optimizer.lr=1e30"
        empty = self.folder / "empty"
        empty.mkdir()
        self.refuse("runs", empty, parts=("no run", "weft train"))
        self.refuse("runs", self.folder / "none", parts=("none",))
        self.refuse("runs", "compare", parts=("RUN",))
        self.refuse("runs", "compare", self.folder / "all",
                    parts=("no run", "optimizer.lr=0.001"))
        self.refuse("runs", "compare", self.names[0], failed,
                    parts=("accuracy", "nothing was measured"))
        self.refuse("runs", "compare", self.names[0], "--metric", "accurac",
                    parts=("accurac", "loss, accuracy"))
        self.refuse("runs", "plot", self.names[0], parts=("out",))
        self.refuse("runs", "plot", self.names[0], "-o", "x.jpg",
                    parts=(".svg", ".png"))
        self.refuse("runs", "plot", self.names[0], "-o", "x.svg", "--over",
                    "days", parts=("days",))
        with (self.names[0] / "metrics.jsonl").open("a") as file:
            file.write("{\n")
        self.refuse("runs", "compare", *self.names,
                    parts=("metrics.jsonl:3", "no epoch"))


if __name__ == "__main__":
    sys.exit(unittest.main())
