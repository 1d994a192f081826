"""The bars of weft/concurrent: each file lib/concurrent_NAME.py brings its
own, from `benches(where)`."""

import importlib
import pkgutil

import lib
from lib.bench import Bench, Setting


def benches(where: Setting) -> list[Bench]:
    parts = sorted(module.name for module in pkgutil.iter_modules(lib.__path__)
                   if module.name.startswith("concurrent_"))
    return [bench for part in parts
            for bench in importlib.import_module(f"lib.{part}").benches(where)]
