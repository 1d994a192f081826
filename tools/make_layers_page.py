#!/usr/bin/env python3
"""Writes docs/layers.md from the registry: every layer that the model "sequential"
can be made of. With --check it only says whether the page is up to date.

WEFT_BIN=build/bin/weft tools/make_layers_page.py
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "layers.md"
BIN = os.environ.get("WEFT_BIN", ROOT / "build" / "bin" / "weft")
INTRODUCTION = """\
# Layers

<!-- Written by tools/make_layers_page.py from the registry. -->

What the model `sequential` can be made of, as `weft layers --json` says it:

```toml
[model]
name = "sequential"
layers = ["conv2d(16, kernel=5)", "relu", "max-pool", "flatten", "linear"]
```

- A layer is written `name(value, key=value, …)`: the first option may go without its
  key, and what is left out has its default. Layers within a layer stand in brackets:
  `residual([batch-norm, relu, conv2d])`.
- Shapes are those of one example. A layer learns from what arrives how large its
  parameters are, so that nothing is said twice; `linear` as the last one makes as many
  numbers as the task tells.
- Of running text each layer takes words and steps as they stand,
  `["embedding(128)", "lstm", "linear"]`, and states run on from one batch to the next.
- Parameters are called by the kind of their layer and its number among these:
  `conv2d1.weight`, `linear2.bias`, `residual1.layers.conv2d1.weight`. These are the names
  that `[[model.views]]` and `[[optimizer.groups]]` choose from.
- From Python: `weft.nn.model("sequential", example=(28, 28, 1), classes=10, layers=[…])`.

A new layer is one file of `weft/nn/layers`, or of the same folder in a tree of your own
([How to add a task](guides/adding-a-task.md), section 3):
`examples/extension/weft/nn/layers/squeeze_excite.cpp`.

"""


def layers() -> list[dict]:
    done = subprocess.run([BIN, "layers", "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def overview(all_layers: list[dict]) -> str:
    text = row("layer", "what it is", "takes", "makes")
    text += row("---", "---", "---", "---")
    for layer in all_layers:
        name = f"[`{layer['name']}`](#{layer['name']})" if layer["options"] \
            else f"`{layer['name']}`"
        text += row(name, layer["summary"], layer["takes"], layer["makes"])
    return text + "\n"


def options(layer: dict) -> str:
    text = f"## {layer['name']}\n\n"
    text += row("option", "default", "may be", "meaning")
    text += row("---", "---", "---", "---")
    for option in layer["options"]:
        text += row(f"`{option['name']}`", f"`{option['default']}`",
                    option["allowed"], option["summary"])
    return text + "\n"


def page() -> str:
    all_layers = layers()
    text = INTRODUCTION + overview(all_layers)
    text += "".join(options(layer) for layer in all_layers if layer["options"])
    return text.rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        return 0 if PAGE.exists() and PAGE.read_text() == page() else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
