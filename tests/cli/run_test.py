#!/usr/bin/env python3
"""weft run: a function in a file, written here by hand from its format."""

import json
import struct
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import BIN, CliTest, free_port, run  # noqa: E402

GRAPH = """
func @scale(%0 "x": f32[N, 2], %1 "factor": f32[2]) -> (f32[N, 2]) {
  %2 = multiply(%0, %1) : f32[N, 2]
  return %2
}
"""
# Two functions that can be placed.
CALLS = """
func @twice(%0: f32[1, 2]) -> (f32[1, 2]) {
  %1 = add(%0, %0) : f32[1, 2]
  return %1
}
func @scale(%0 "x": f32[1, 2], %1 "factor": f32[2]) -> (f32[1, 2]) {
  %2 = multiply(%0, %1) : f32[1, 2]
  %3 = call(%2) {function = @twice(f32[1, 2]) -> (f32[1, 2])} : f32[1, 2]
  return %3
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

    def test_runs_in_parts(self) -> None:
        path = self.exported(CALLS)
        for place in ("", "twice=1", "scale=1 twice=2", "*=2 twice=0"):
            output = self.succeed("run", path, "--input", "x=[[1, 2]]",
                                  "--workers", "3", "--place", place)
            self.assertEqual(json.loads(output)["results"], [
                {"type": "f32[1, 2]", "value": [[20, 400]]}])
        self.refuse("run", path, "--input", "x=[[1, 2]]", "--workers", "2",
                    "--place", "twize=1", parts=("twize", "twice"))
        self.refuse("run", path, "--input", "x=[[1, 2]]", "--workers", "2",
                    "--place", "twice=2", parts=("rank 2", "0 to 1"))

    def test_parts_meet_over_tcp(self) -> None:
        address = f"127.0.0.1:{free_port()}"
        command = ["run", str(self.exported(CALLS)), "--input", "x=[[1, 2]]",
                   "--place", "twice=1", "--transport"]
        with subprocess.Popen([BIN, *command, f"tcp({address}, rank=1)"],
                              stdout=subprocess.PIPE, text=True) as second:
            output = self.succeed(*command, f"tcp({address}, rank=0)")
            self.assertEqual(second.communicate(timeout=120)[0], "")
        self.assertEqual(second.returncode, 0)
        self.assertEqual(json.loads(output)["results"], [
            {"type": "f32[1, 2]", "value": [[20, 400]]}])

    def test_adds_up_over_workers(self) -> None:
        graph = GRAPH.replace("return %2", """%3 = all_reduce(%2) \
{group_size = 4, groups = [0, 1, 2, 3]} : f32[N, 2]
  return %3""")
        path = self.exported(graph)
        for collective in ("ring", "halving", "direct", "blueconnect"):
            done = run("run", path, "--input", "x=[[1, 2]]", "--workers", "4",
                       "--collective", collective)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["results"], [
                {"type": "f32[1, 2]", "value": [[40, 800]]}])
            self.assertEqual("stays: " in done.stderr,
                             collective == "blueconnect", done.stderr)
        self.refuse("run", path, "--input", "x=[[1, 2]]", "--collective",
                    "ring", parts=("several workers",))
        text = self.write("sum.weft", graph.replace("[N, 2]", "[3, 4]")
                          .replace("f32[2]", "f32[4]"))
        said = self.succeed("inspect", text, "--hosts", "a,b,a,b")
        self.assertIn("scattered among 2", said)
        self.assertIn("reduce_scatter", said)

    def test_numbers_are_those_of_the_type(self) -> None:
        def graph(dtype: str) -> str:
            return f"""
func @scale(%0 "x": {dtype}[N], %1 "factor": f32[2]) -> ({dtype}[N]) {{
  %2 = add(%0, %0) : {dtype}[N]
  return %2
}}
"""
        for dtype, value, part in (
                ("u8", "300", "300 is outside of the range of u8"),
                ("u8", "-1", "outside of the range of u8"),
                ("i32", "1.7", "1.7 is no integer"),
                ("i64", "1e30", "no integer"),
                ("f16", "65520", "outside of the range of f16"),
                ("f32", "1e39", "outside of the range of f32")):
            self.refuse("run", self.exported(graph(dtype)), "--input",
                        f"x=[{value}]", parts=(part,))
        path = self.exported(graph("i64"))
        done = run("run", path, "--input", "x=[4611686018427387903]")
        self.assertIn("9223372036854775806", done.stdout)
        # It would lie in the middle of two halves by way of f32.
        path = self.exported(graph("f16"))
        done = run("run", path, "--input", "x=[1.00048828126]")
        self.assertEqual(json.loads(done.stdout)["results"][0]["value"],
                         [2 + 2 ** -9])

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
        for option, value in (("--place", "*=0"),
                              ("--topology", "2@1us,1GB/s")):
            self.refuse("run", path, "--input", "x=[[1, 2]]", option, value,
                        parts=(option, "several workers"))
        self.refuse("run", self.exported(graph="func"), "--input", "x=1",
                    parts=("scale.weft",))
        self.refuse("run", self.folder / "none.weft")


if __name__ == "__main__":
    unittest.main()
