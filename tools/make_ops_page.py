#!/usr/bin/env python3
"""Writes docs/ops.md from the registries: every op, and what others have that
Weft has not (tools/other_systems.toml). With --check it only says whether the page
is up to date.

PYTHONPATH=build/python WEFT_BIN=build/bin/weft tools/make_ops_page.py
"""

import argparse
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import weft

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "ops.md"
BIN = os.environ.get("WEFT_BIN", ROOT / "build" / "bin" / "weft")
INTRODUCTION = """\
# Ops

<!-- Written by tools/make_ops_page.py from the registries. -->

All that a graph can be made of, as `weft ops --json` says it. An op is called under its
name in C++ (`weft/ops/ops.h`) and in Python (`weft.ops`); `weft` has functions under
NumPy's names besides.

- **dtypes** are those of the numbers that it computes with; what addresses elements is
  i32 or i64, and conditions are bool.
- **gradient**: a *rule* of its own, or that of the ops that it is *lowered* to; *none
  flows* where the result is of integers, or constant in pieces; a gradient *of its
  functions* is one of what they do.
- **batching** is how one function becomes one over many instances.
- **kernels** in the order in which they are tried: `loop` is a pass over memory that
  neighbours share, in machine code or by SIMD, `reference` the plain definition. bf16 and
  f16 are widened to f32 where a processor has no instructions for them.

"""


def registry() -> list[dict]:
    done = subprocess.run([BIN, "ops", "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def table(ops: list[dict]) -> str:
    lines = ["| op | meaning | dtypes | gradient | batching | kernels |",
             "| --- | --- | --- | --- | --- | --- |"]
    for op in ops:
        cells = (f"`{op['name']}{op['signature']}`", op["summary"],
                 dtypes(op["dtypes"]), op["gradient"], op["batching"],
                 ", ".join(op["kernels"]) or "the executor")
        lines.append("| " + " | ".join(
            cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n\n"


FLOATS = ["f16", "bf16", "f32", "f64"]
NUMBERS = ["u8", "i8", "i16", "i32", "i64", *FLOATS]


def dtypes(names: list[str]) -> str:
    for all_of, text in ((["bool", *NUMBERS], "all"), (NUMBERS, "numbers"),
                         (FLOATS, "floats")):
        if names == all_of:
            return text
    return " ".join(names) or "any"


class System:
    """Another system's names, and those of them that are found here."""

    def __init__(self, entry: dict, known: set[str]):
        self.title, self.left_out = entry["title"], entry["left_out"]
        self.plain = entry["same"].split()
        self.renamed = entry["as"]
        names = {**{name: name.lower() for name in self.plain},
                 **self.renamed}
        self.missing = sorted(
            (name for name, words in names.items()
             if not set(words.split()) <= known), key=str.lower)
        self.count = len(names)

    def text(self) -> str:
        found = self.count - len(self.missing)
        return (f"**{self.title}**: {found} of {self.count} are there, under "
                f"one name or as an expression. Not listed: {self.left_out}. "
                f"Missing ({len(self.missing)}): "
                + " ".join(f"`{name}`" for name in self.missing) + "\n\n")


def systems(ops: list[dict]) -> list[System]:
    entries = tomllib.loads(
        (ROOT / "tools" / "other_systems.toml").read_text())
    names = {op["name"] for op in ops}
    functions = {name for name in dir(weft) if not name.startswith("_")}
    functions |= {f"linalg.{name}" for name in weft.linalg.__all__}
    functions |= {f"random.{name}" for name in weft.random.__all__}
    return [System(entry, names | functions if name == "numpy" else names)
            for name, entry in entries.items()]


def page() -> str:
    ops = registry()
    text = INTRODUCTION
    text += (f"`all` are bool and numbers, `numbers` are {', '.join(NUMBERS)}, "
             f"`floats` are {', '.join(FLOATS)}.\n\n")
    text += f"## The {len(ops)} ops\n\n" + table(ops)
    text += "## What others have\n\n"
    text += ("By names, from `tools/other_systems.toml`, which says what stands "
             "for what.\n\n")
    text += "".join(system.text() for system in systems(ops))
    return text.rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    made = page()
    if parser.parse_args().check:
        return PAGE.read_text() != made
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
