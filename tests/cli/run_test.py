#!/usr/bin/env python3
"""weft run: a function in a file, written here by hand from its format."""

import json
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import CliTest  # noqa: E402

GRAPH = """
func @scale(%0 "x": f32[N, 2], %1 "factor": f32[2]) -> (f32[N, 2]) {
  %2 = multiply(%0, %1) : f32[N, 2]
  return %2
}
"""
INFO = {"format": 1, "entry": "scale",
        "hidden": [{"tensor": "0.factor", "kind": "constant"}]}


class RunTest(CliTest):
    def exported(self, graph: str = GRAPH) -> Path:
        header = json.dumps({
            "__metadata__": {"weft.graph": graph,
                             "weft.function": json.dumps(INFO)},
            "0.factor": {"dtype": "F32", "shape": [2],
                         "data_offsets": [0, 8]}}).encode()
        header += b" " * (-len(header) % 8)
        path = self.folder / "scale.weft"
        path.write_bytes(struct.pack("<Q", len(header)) + header +
                         struct.pack("<2f", 10, 100))
        return path

    def test_runs_on_numbers(self) -> None:
        output = self.succeed("run", self.exported(), "--input",
                              "x=[[1, 2], [3, 4]]")
        self.assertEqual(json.loads(output), {"results": [
            {"type": "f32[2, 2]", "value": [[10, 200], [30, 400]]}]})

    def test_runs_on_files(self) -> None:
        path = self.exported()
        self.succeed("run", path, "--input", "x=[[1, 2]]", "--output",
                     self.folder / "y.safetensors")
        data = (self.folder / "y.safetensors").read_bytes()
        renamed = data.replace(b'"result0"', b'"x"      ')
        (self.folder / "x.safetensors").write_bytes(renamed)
        output = self.succeed("run", path, "--inputs",
                              self.folder / "x.safetensors")
        self.assertEqual(json.loads(output)["results"][0]["value"],
                         [[100, 20000]])

    def test_mistakes(self) -> None:
        path = self.exported()
        self.refuse("run", path, parts=("no input 'x'", "x: f32[N, 2]"))
        self.refuse("run", path, "--input", "x", parts=("NAME=VALUE",))
        self.refuse("run", path, "--input", "x=[[1, 2]]", "--input", "z=1",
                    parts=("'z'",))
        self.refuse("run", path, "--input", "x=[[1], [2, 3]]")
        self.refuse("run", path, "--input", "x=[[1, 2, 3]]",
                    parts=("f32[N, 2]",))
        self.refuse("run", path, "--input", "x=one", parts=("nested lists",))
        self.refuse("run", self.exported(graph="func"), "--input", "x=1",
                    parts=("scale.weft",))
        self.refuse("run", self.folder / "none.weft")


if __name__ == "__main__":
    unittest.main()
