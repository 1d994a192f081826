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


def callables(stub: str, module):
    """What was compiled of a module and of its classes, each with its stub."""
    for node in ast.parse((ROOT / "python/weft" / stub).read_text()).body:
        owner = getattr(module, getattr(node, "name", ""), None)
        if isinstance(node, ast.FunctionDef):
            yield owner, node
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    yield getattr(owner, member.name, None), member


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

    def test_parameters_have_the_names_that_stubs_give_them(self):
        compiled = ("builtin_function_or_method", "instancemethod")
        for function, stub in callables("__init__.pyi", weft):
            if type(function).__name__ not in compiled:
                continue
            if stub.name.startswith("__"):
                continue
            arguments = [each.arg for each in stub.args.args]
            if arguments[:1] == ["self"]:
                del arguments[0]
            # What it is not called with is refused with what it takes; without
            # a name, pybind11 numbers a parameter.
            with self.subTest(stub.name), self.assertRaises(TypeError) as said:
                function(no_such_name=1)
            if arguments:
                self.assertNotIn("arg0", str(said.exception), stub.name)

    def test_every_name_is_there(self):
        for stub, module in (
            ("__init__.pyi", weft),
            ("functions/__init__.pyi", weft),
            ("linalg.pyi", weft.linalg),
            ("nn.pyi", weft.nn),
            ("onnx.pyi", weft.onnx),
            ("optim.pyi", weft.optim),
            ("random.pyi", weft.random),
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

        for module in (
            weft.functions,
            weft.linalg,
            weft.onnx,
            weft.optim,
            weft.random,
            weft.train,
            weft.validation,
            weft.ledger,
            weft.budget,
            weft.gate,
            weft.market,
        ):
            stub = Path(module.__file__).relative_to(Path(weft.__file__).parent)
            known = defined(stub.with_suffix(".pyi"))
            self.assertEqual(set(module.__all__) - known, set())

    def test_example_runs(self):
        subprocess.run(
            [sys.executable, ROOT / "tests/python/typed_example.py"], check=True
        )


if __name__ == "__main__":
    unittest.main()
