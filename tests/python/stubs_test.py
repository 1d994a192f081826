"""The stubs agree with the package: the ops as they are made from the registry,
every other name by name. (./test --all reads the example with mypy --strict.)
"""

import ast
import subprocess
import sys
import unittest
from pathlib import Path

import weft

ROOT = Path(__file__).resolve().parents[2]


def defined(stub: str) -> set:
    names = set()
    for node in ast.parse((ROOT / "python/weft" / stub).read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom) and node.module == "weft.ops":
            names.update(alias.asname for alias in node.names)
    return {name for name in names if not name.startswith("_")}


class Stubs(unittest.TestCase):
    def test_ops_are_up_to_date(self):
        made = subprocess.run(
            [sys.executable, ROOT / "tools/make_stubs.py"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        self.assertEqual(
            made,
            (ROOT / "python/weft/ops.pyi").read_text(),
            "PYTHONPATH=build/python tools/make_stubs.py > python/weft/ops.pyi",
        )

    def test_every_name_is_there(self):
        for stub, module in (
            ("__init__.pyi", weft),
            ("nn.pyi", weft.nn),
            ("onnx.pyi", weft.onnx),
            ("optim.pyi", weft.optim),
            ("train.pyi", weft.train),
            ("validation.pyi", weft.validation),
            ("ledger.pyi", weft.ledger),
            ("budget.pyi", weft.budget),
            ("gate.pyi", weft.gate),
            ("market.pyi", weft.market),
        ):
            missing = [n for n in defined(stub) if not hasattr(module, n)]
            self.assertEqual(missing, [], stub)

    def test_every_name_has_a_stub(self):
        import weft.functions

        known = defined("__init__.pyi")
        self.assertEqual(set(weft.functions.__all__) - known, set())
        for module in (
            weft.onnx,
            weft.optim,
            weft.train,
            weft.validation,
            weft.ledger,
            weft.budget,
            weft.gate,
            weft.market,
        ):
            stub = module.__name__.removeprefix("weft.") + ".pyi"
            self.assertEqual(set(module.__all__) - defined(stub), set())

    def test_example_runs(self):
        subprocess.run(
            [sys.executable, ROOT / "tests/python/typed_example.py"], check=True
        )


if __name__ == "__main__":
    unittest.main()
