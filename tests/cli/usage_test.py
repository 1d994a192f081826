#!/usr/bin/env python3
"""Mistakes end with code 2 and say what, where, and what to do."""

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import BIN, DIGITS, ROOT, SAMPLE, CliTest, run  # noqa: E402

sys.path.insert(0, str(ROOT / "tools"))
import make_verbs_table  # noqa: E402


class UsageTest(CliTest):
    def test_version_and_help(self) -> None:
        self.assertRegex(self.succeed("--version"), r"^weft \d+\.\d+")
        verbs = make_verbs_table.verbs()
        self.assertEqual(verbs[0], ("train", "Train what a recipe describes"))
        self.assertIn("inspect codec", dict(verbs))
        for name, summary in verbs:
            said = self.succeed(*name.split(), "--help")
            self.assertIn(f"Usage: weft {name} ", said)
            self.assertIn(summary, said)

    def test_readme_lists_the_verbs(self) -> None:
        done = subprocess.run(
            [sys.executable, ROOT / "tools/make_verbs_table.py", "--check"])
        self.assertEqual(done.returncode, 0, "run tools/make_verbs_table.py")

    def test_no_verb_shows_what_there_are(self) -> None:
        for words, verb in (((), "train"), (("data",), "fetch"),
                            (("budget",), "grant"),
                            (("--color", "never"), "serve")):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("SUBCOMMAND", done.stderr)
            self.assertRegex(done.stderr, rf"\n  {verb}  ")

    def test_bad_usage(self) -> None:
        self.refuse("trian", DIGITS, parts=("did you mean 'train'?",))
        self.refuse("--color", "never", "data", "fetsh", "mnist",
                    parts=("unknown verb 'fetsh' (did you mean 'fetch'?)",))
        self.refuse("export", "run", parts=("--output",))
        self.refuse("train", parts=("RECIPE",))
        self.refuse("train", DIGITS, "--bogus", parts=("--bogus",))
        self.refuse("train", DIGITS, "--threads", "0")

    def test_unknown_key_names_the_nearest(self) -> None:
        self.refuse("train", DIGITS, "--set", "optimiser.lr=0.1",
                    parts=("optimiser", "did you mean 'optimizer'",
                           "--set optimiser.lr=0.1"))
        self.refuse("train", DIGITS, "--set", "optimizer.momentun=0.1")
        self.refuse("train", DIGITS, "--set", "train.epochs=many")
        self.refuse("train", DIGITS, "--set", "train.epochs")

    def test_bad_recipe_names_the_line(self) -> None:
        recipe = self.write("bad.toml", '[model]\nname = "mlp"\nx = = 3\n')
        self.refuse("train", recipe, parts=("bad.toml:3",))
        recipe = self.write("worse.toml", DIGITS.read_text().replace(
            'name = "digits-cnn"', 'name = "digits-cn"'))
        self.refuse("train", recipe, parts=("digits-cnn",))

    def test_missing_files(self) -> None:
        for verb in (["train"], ["eval"], ["inspect"]):
            self.refuse(*verb, self.folder / "none.toml")
        self.refuse("predict", self.folder / "none.safetensors", SAMPLE)
        self.refuse("train", DIGITS, "--data", self.folder,
                    parts=("digits", str(self.folder)))

    def test_damaged_checkpoint(self) -> None:
        self.succeed(*self.train_command("run"))
        good = (self.folder / "run" / "best.safetensors").read_bytes()
        for name, bad in (("short", good[:1000]), ("empty", b""),
                          ("flipped", good[:20] + b"\xff" + good[21:]),
                          ("long", good + b"x")):
            path = self.folder / f"{name}.safetensors"
            path.write_bytes(bad)
            for verb in (["eval"], ["inspect"]):
                self.refuse(*verb, path, parts=(path.name,))
            self.refuse("predict", path, SAMPLE, parts=(path.name,))
        good_path = self.folder / "run" / "best.safetensors"
        picture = self.write("picture.png", "no picture")
        self.refuse("predict", good_path, picture, parts=("picture.png",))

    def test_output_that_is_lost_is_told(self) -> None:
        with open("/dev/full", "w", encoding="utf-8") as full:
            for words in (("ops", "add"), ("--version",)):
                done = subprocess.run([BIN, *words], stdout=full,
                                      stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1, words)
                self.assertIn("standard output", done.stderr)

    def test_who_cannot_be_told_gets_the_code(self) -> None:
        with open("/dev/full", "w", encoding="utf-8") as full:
            for words in (("bogus",), ()):
                done = subprocess.run([BIN, *words], stderr=full)
                self.assertEqual(done.returncode, 2, words)

    def test_options_that_would_do_nothing_are_refused(self) -> None:
        graph = self.write("one.weft", """func @f(%0: f32[2]) -> (f32[2]) {
  %1 = add(%0, %0) : f32[2]
  return %1
}
""")
        self.refuse("inspect", graph, "--set", "a.b=1",
                    parts=("--set", "recipe"))
        self.refuse("inspect", DIGITS, "--hosts", "a,b", parts=("--hosts",))
        self.assertIn("on 2 hosts: no all_reduce op",
                      self.succeed("inspect", graph, "--hosts", "a,b"))

    def test_ops_says_what_computes_one(self) -> None:
        text = self.succeed("ops", "matmul")
        self.assertIn("onednn:matmul", text)
        self.assertIn("f16 bf16 f32 f64", text)
        self.assertIn("layer_norm", self.succeed("ops"))
        (add,) = json.loads(self.succeed("ops", "add", "--json"))
        self.assertEqual(add["gradient"], "rule")
        self.refuse("ops", "matmull", parts=("did you mean 'matmul'",))

    def test_doctor_and_data(self) -> None:
        found = self.json_of("doctor")
        self.assertTrue(found["computes"])
        self.assertTrue(found["data"]["digits"])
        self.assertIn("oneDNN", self.succeed("doctor"))
        listed = json.loads(self.succeed("data", "list", "--json"))
        self.assertIn("digits", [each["name"] for each in listed["data"]])
        self.refuse("data", "fetch", "mnsit", parts=("mnist",))

    def test_instructions_can_be_capped(self) -> None:
        def with_cap(cap: str, *arguments: object):
            return run(*arguments, env={**os.environ, "WEFT_CPU": cap})

        refused = with_cap("sse", "doctor")
        self.assertEqual(refused.returncode, 2)
        self.assertIn('no instruction set "sse"', refused.stderr)
        machine = json.loads(with_cap("", "doctor", "--json").stdout)
        self.assertIsNone(machine["WEFT_CPU"])
        if machine["instruction_set"] == "baseline":  # no x86-64
            self.assertEqual(with_cap("avx2", "doctor").returncode, 2)
            return
        capped = json.loads(with_cap("avx2", "doctor", "--json").stdout)
        self.assertEqual(capped["WEFT_CPU"], "avx2")
        self.assertEqual(capped["instruction_set"],
                         machine["instruction_set"])
        self.assertEqual(capped["products"]["f32"], "in hardware")
        self.assertEqual(capped["products"]["bf16"], "emulated in f32")
        trained = with_cap("avx2", *self.train_command(
            "capped", "--set", "train.dtype=bf16", "--set",
            "train.max_steps=2"))
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertIn(", bf16 emulated in f32",
                      trained.stderr.splitlines()[0])

    def test_inspect(self) -> None:
        text = self.succeed("inspect", DIGITS, "--graph")
        self.assertIn("38,282 parameters", text)
        self.assertIn("onednn", text)
        self.assertTrue(re.search(r"\d+ steps, ", text))
        graph = self.write("scale.weft",
                           "func @scale(%0 \"x\": f32[N, 4]) -> (f32[N, 4]) "
                           "{\n  %1 = relu(%0) : f32[N, 4]\n  return %1\n}\n")
        self.assertIn("@scale", self.succeed("inspect", graph, "--graph"))
        bad = self.write("bad.weft", "func @scale(%0: f32[N) {\n")
        self.refuse("inspect", bad, parts=("bad.weft",))
        self.refuse("inspect", self.write("notes.md", ""))

    def test_inspect_recursion(self) -> None:
        graph = self.write("halve.weft", """\
func @stop(%0: f64[]) -> (f64[]) {
  return %0
}
func @go_on(%0: f64[]) -> (f64[]) {
  %1 = constant() {value = f64[](0.5)} : f64[]
  %2 = multiply(%0, %1) : f64[]
  %3 = call(%2) {function = @halve(f64[]) -> (f64[])} : f64[]
  return %3
}
func @halve(%0: f64[]) -> (f64[]) {
  %1 = constant() {value = f64[](1.0)} : f64[]
  %2 = less_equal(%0, %1) : bool[]
  %3 = cond(%2, %0) {then = @stop(f64[]) -> (f64[]), \
otherwise = @go_on(f64[]) -> (f64[])} : f64[]
  return %3
}
""")
        text = self.succeed("inspect", graph, "--graph")
        self.assertIn("body @halve", text)
        self.assertIn("call #", text)
        drawing = self.succeed("inspect", graph, "--dot")
        self.assertTrue(drawing.startswith("digraph"), drawing)
        self.refuse("inspect", graph, "--dot", "--function", "stop",
                    parts=("--dot",))
        self.refuse("inspect", graph, "--dot", "--function", "none",
                    parts=("@none",))

    def test_inspect_codec(self) -> None:
        text = self.succeed("inspect", "codec",
                            "topk(0.01) | value:qsgd(7) | zstd")
        self.assertIn("synthetic gradient", text)
        self.assertIn("index:raw value:qsgd(bits=7", text)
        self.assertRegex(text, r"GB/s  zstd\(level=1\)\n")
        found = self.json_of("inspect", "codec", "3lc(s=1.75)")
        self.assertEqual(found["tensor"], "synthetic")
        self.assertTrue(found["needs_feedback"])
        self.assertEqual(len(found["stages"]), 1)
        self.assertLess(found["stages"][0]["bits_per_value"], 1.7)
        self.refuse("inspect", "codec", "topk(0.01) | qsgdd(7)",
                    parts=("did you mean 'qsgd'",
                           "\n  topk(0.01) | qsgdd(7)\n               ^\n"))
        self.refuse("inspect", "codec", parts=("PIPELINE",))
        self.refuse("inspect", parts=("FILE",))

    def test_inspect_collective(self) -> None:
        slow = "4@50us,12.5MB/s"
        text = self.succeed("inspect", "collective", slow, "--bytes", "1MB")
        self.assertIn("taken: ring\n", text)
        self.assertRegex(text, r" [0-9.]+  rabenseifner\n")
        self.assertIn("1.1 GB", self.succeed("inspect", "collective", slow))
        found = self.json_of("inspect", "collective", slow, "--bytes", "1MB")
        taken = next(each for each in found["sizes"][0]["candidates"]
                     if each["algorithm"] == "ring")
        # 3/4 of the vector goes out twice, at 12.5 MB/s.
        self.assertAlmostEqual(taken["seconds"], 1.5 * 1e6 / 12.5e6,
                               delta=1e-3)
        sparse = self.succeed("inspect", "collective", slow, "--bytes", "1MB",
                              "--items", "1000")
        self.assertIn("4 ranks, 1000 of", sparse)
        self.assertRegex(sparse, r"-> \w+")
        self.refuse("inspect", "collective", slow, "--bytes", "1MB", "--items",
                    "1000000", parts=("--items",))
        self.refuse("inspect", "collective", "4@50parsecs,1GB/s",
                    parts=("parsecs",))
        self.refuse("inspect", "collective", parts=("TOPOLOGY",))

    def test_inspect_codec_on_a_tensor(self) -> None:
        self.succeed(*self.train_command("run"))
        best = self.folder / "run" / "best.safetensors"
        listed = self.succeed("inspect", best)
        name = re.search(r"^  (\S*weight\S*) +f32\[", listed, re.M).group(1)
        found = self.json_of("inspect", "codec", "int8", "--tensor",
                             f"{best}:{name}")
        self.assertEqual(found["tensor"], f"{best}:{name}")
        self.assertLess(found["stages"][0]["relative_error"], 0.02)
        self.refuse("inspect", "codec", "int8", "--tensor", best,
                    parts=("names no tensor", "FILE:NAME"))
        self.refuse("inspect", "codec", "int8", "--tensor", f"{best}:none",
                    parts=("none",))


if __name__ == "__main__":
    sys.exit(unittest.main())
