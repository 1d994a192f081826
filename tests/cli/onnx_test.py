#!/usr/bin/env python3
"""ONNX on the command line: weft export writes models, weft import reads
them."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small_sets import digits  # noqa: E402
from weft import CliTest  # noqa: E402


class OnnxTest(CliTest):
    def test_a_trained_model_there_and_back(self) -> None:
        self.succeed(*self.train_command("run", "--set", "train.epochs=1",
                                         "--threads", 1))
        model = self.folder / "net.onnx"
        said = self.json_of("export", self.folder / "run", "-o", model)
        self.assertEqual(said, {
            "file": str(model),
            "arguments": [{"name": "image", "type": "f32[N, 8, 8, 1]"}],
            "results": ["f32[N, 10]"]})
        net = self.folder / "net.weft"
        own = self.folder / "own.weft"
        text = self.succeed("import", model, "-o", net)
        self.assertIn("(image: f32[N, 8, 8, 1]) -> f32[N, 10]", text)
        self.assertIn(f"weft run {net} --input image=", text)
        self.succeed("export", self.folder / "run", "-o", own)
        image = digits()[0][0]
        rows = [[[value / 16] for value in image[at:at + 8]]
                for at in range(0, 64, 8)]
        answers = [json.loads(self.succeed(
            "run", file, "--input", f"image={json.dumps([rows])}"))
            ["results"][0]["value"][0] for file in (net, own)]
        for imported, exported in zip(*answers):
            self.assertAlmostEqual(imported, exported, delta=1e-5)
        # From the exported function, with weights beside it and other shapes.
        self.succeed("export", own, "-o", model, "--external-data")
        (data,) = self.folder.glob("net.onnx*.data")
        self.assertGreater(data.stat().st_size, 100_000)
        said = self.json_of("import", model, "-o", net, "--shape",
                            "image=2x8x8x1")
        self.assertEqual(said["results"], ["f32[2, 10]"])
        said = self.json_of("import", model, "-o", net, "--fix",
                            f"image={json.dumps([rows])}")
        self.assertEqual(said["arguments"], [])

    def test_the_ops_that_are_read(self) -> None:
        ops = self.succeed("import", "--ops").splitlines()
        self.assertIn("Conv", ops)
        self.assertIn("ai.onnx.preview.training Adam", ops)
        self.assertEqual(ops, sorted(set(ops)))

    def test_refusals(self) -> None:
        text = self.write("text.onnx", "no model at all")
        net = self.folder / "net.weft"
        self.refuse("import", text, "-o", net,
                    parts=("text.onnx", "damaged ONNX model", "at byte"))
        self.refuse("import", self.folder / "none.onnx", "-o", net,
                    parts=("none.onnx",))
        self.refuse("import", text, "-o", net, "--fix", "x",
                    parts=("--fix", "NAME=VALUE"))
        self.refuse("import", text, parts=("--output",))
        self.refuse("export", text, "-o", net, "--external-data",
                    parts=("--external-data", "end in .onnx"))
        self.refuse("export", text, "-o", self.folder / "copy.onnx",
                    parts=("text.onnx",))
        self.assertFalse(net.exists())


if __name__ == "__main__":
    unittest.main()
