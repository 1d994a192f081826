#!/usr/bin/env python3
"""onnx's own node tests, run by weft.onnx: prints one JSON object with the
number of tests on dtypes that Weft has, of those that pass, and the reason of
each other one. --page writes the latter as a page.

    PYTHONPATH=build/python PEERS/bin/python bench/peers/onnx_node_tests.py
"""

import argparse
import json
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import weft
from onnx import TensorProto, numpy_helper

warnings.filterwarnings("ignore")  # onnx makes its cases with overflows

DTYPES = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16,
          TensorProto.BFLOAT16, TensorProto.INT8, TensorProto.UINT8,
          TensorProto.INT16, TensorProto.INT32, TensorProto.INT64,
          TensorProto.BOOL}


def element_type(value: onnx.TypeProto) -> int | None:
    """Also of the tensors in a sequence or an optional; None where the model
    does not say it, as within graphs."""
    kind = value.WhichOneof("value")
    if kind == "tensor_type":
        return value.tensor_type.elem_type or None
    if kind in ("sequence_type", "optional_type"):
        return element_type(getattr(value, kind).elem_type)
    return None if kind is None else TensorProto.UNDEFINED


def types_of(graph: onnx.GraphProto, found: set) -> None:
    """The element types that a graph computes with."""
    for value in [*graph.input, *graph.output, *graph.value_info]:
        found.add(element_type(value.type))
    found.update(tensor.data_type for tensor in graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and attribute.i:
                found.add(attribute.i)
            if attribute.HasField("t"):
                found.add(attribute.t.data_type)
            if attribute.HasField("g"):
                types_of(attribute.g, found)


def is_supported(model: onnx.ModelProto) -> bool:
    """A function takes tensors: a sequence that is an input has no length."""
    found: set = set()
    types_of(model.graph, found)
    return found <= DTYPES | {None} and all(
        value.type.WhichOneof("value") == "tensor_type"
        for value in model.graph.input)


def as_arrays(value) -> list:
    """A sequence of results is as many results."""
    if isinstance(value, TensorProto):
        return [numpy_helper.to_array(value)]
    if isinstance(value, list):
        return [array for each in value for array in as_arrays(each)]
    return [np.asarray(value)]


def expect_equal(ours: np.ndarray, theirs: np.ndarray, case) -> None:
    if ours.dtype != theirs.dtype:
        raise AssertionError(f"is {ours.dtype}, not {theirs.dtype}")
    if ours.dtype.kind not in "biuf":  # bfloat16 is no dtype of NumPy's own
        ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
    np.testing.assert_allclose(ours, theirs, rtol=case.rtol, atol=case.atol)


def fixable(model: onnx.ModelProto, inputs: list) -> dict:
    """Inputs that may decide shapes: lists and numbers, as operands of the
    node's are."""
    return {value.name: array for value, array
            in zip(model.graph.input, inputs)
            if array.ndim <= 1 and array.size <= 64}


def load(path: Path, model: onnx.ModelProto, inputs: list, fixes: dict):
    """The model, and its inputs that are arguments. Shapes may depend on inputs
    of the test; such inputs are fixed: lists and numbers, or else all."""
    choices = ("none", {}), ("some", fixable(model, inputs)), (
        "all", {value.name: array
                for value, array in zip(model.graph.input, inputs)})
    for kind, fixed in choices:
        left = [array for value, array in zip(model.graph.input, inputs)
                if value.name not in fixed]
        try:
            function = weft.onnx.load(path, fixed=fixed)
        except weft.Error as error:
            if kind == "all" or "must not depend on them" not in str(error):
                raise
            continue
        fixes[path.stem] = kind
        return function, left
    raise AssertionError("unreachable")


def run(case, folder: Path, fixes: dict) -> None:
    path = folder / f"{case.name}.onnx"
    path.write_bytes(case.model.SerializeToString())
    for given, expected in case.data_sets:
        arrays = [array for each in given for array in as_arrays(each)]
        function, arguments = load(path, case.model, arrays, fixes)
        results = function(*arguments)
        if not isinstance(results, tuple):
            results = (results,)
        theirs = [array for each in expected for array in as_arrays(each)]
        for result, array in zip(results, theirs, strict=True):
            expect_equal(np.asarray(result), array, case)


def reason(error: Exception) -> str:
    """The line that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, weft.Error) and len(lines) > 1:
        return re.sub(r"^.*?\): ", "", lines[1])
    told = [line for line in lines if line.startswith(("Mismatched", "Max "))]
    return "; ".join(told) or (lines[0] if lines else type(error).__name__)


def page_of(said: dict) -> str:
    """The tests that do not pass, by their reasons."""
    reasons: dict = {}
    for name, why in sorted(said["failures"].items()):
        reasons.setdefault(kind_of(name, why), []).append(name)
    lines = [
        "# onnx's node tests", "",
        "<!-- Written by bench/peers/onnx_node_tests.py. -->", "",
        f"{said['passed']} of the {said['supported']} node tests of onnx "
        f"{said['onnx']} on dtypes that Weft has pass "
        f"({100 * said['passed'] / said['supported']:.1f} %). The other "
        f"{said['tests'] - said['supported']} of {said['tests']} are on texts, "
        "sequences that are inputs, complex numbers, and numbers of 2, 4, 8 "
        "(floats) or unsigned 16 to 64 bits. In "
        f"{said['fixed']} of those that are counted an operand that decides a "
        "shape is an input of the test; it is fixed as `--fix` does. In "
        f"{said['all_fixed']} of these every input is, so that all is computed "
        "while importing.", "",
        "| tests | why they do not pass |", "| --- | --- |"]
    for why, names in sorted(reasons.items(), key=lambda each: -len(each[1])):
        text = why.replace("|", "\\|")
        listed = " ".join(f"`{name.removeprefix('test_')}`" for name in names)
        lines.append(f"| {len(names)}: {listed} | {text} |")
    return "\n".join(lines) + "\n"


NO_IMPORTER = {
    "image_decoder": "reads files of pictures, which is for what calls a "
    "function: the size of its result stands in the file",
    "tree_ensemble": "trees of decisions, which Weft does not run"}


def kind_of(name: str, why: str) -> str:
    for part, reason in NO_IMPORTER.items():
        if part in name and "no importer" in why:
            return reason
    if "bernoulli" in name or "dropout" in name:
        return "other random numbers: ONNX does not say which they are"
    if why.startswith("Mismatched"):
        return re.sub(r"^.*?Max absolute difference among violations: ",
                      "rounds otherwise; largest difference ",
                      why.split("; Max relative")[0])
    return why


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a test's name")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--page", type=Path, help="where to write it")
    arguments = parser.parse_args()
    from onnx.backend.test.loader import load_model_tests
    cases = [case for case in load_model_tests(kind="node")
             if arguments.only in case.name]
    supported = [case for case in cases if is_supported(case.model)]
    failures = {}
    fixes: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in supported:
            if arguments.verbose:
                print(case.name, file=sys.stderr, flush=True)
            try:
                run(case, Path(folder), fixes)
            except Exception as error:  # each failure is a result
                failures[case.name] = reason(error)
                if arguments.verbose:
                    print(f"  {error}", file=sys.stderr)
    said = {"onnx": onnx.__version__, "tests": len(cases),
            "supported": len(supported),
            "fixed": sum(kind != "none" for kind in fixes.values()),
            "all_fixed": sum(kind == "all" for kind in fixes.values()),
            "passed": len(supported) - len(failures), "failures": failures}
    if arguments.page:
        arguments.page.write_text(page_of(said))
    print(json.dumps(said))


if __name__ == "__main__":
    main()
