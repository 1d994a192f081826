"""A suite is a file here with `benches(bench) -> list[Bench]`; its name is
the suite's name."""

import importlib
import pkgutil


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str):
    return importlib.import_module(f"suites.{name}")
