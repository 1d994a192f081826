#!/usr/bin/env python3
"""Prints the stub of weft.ops, made from the op registry:

PYTHONPATH=build/python tools/make_stubs.py > python/weft/ops.pyi
"""

from weft import _weft

TYPES = {
    "bool": "bool",
    "integer": "int",
    "real": "float",
    "text": "str",
    "integers": "int | Sequence[int]",
    "shape": "ShapeLike",
    "dtype": "DTypeLike",
    "tensor": "TensorLike",
}


def stub(entry):
    operands = [f"{name}: TensorLike" for name in entry["inputs"]]
    if entry["is_variadic"]:
        name = entry["inputs"][-1]
        operands[-1] = f"*{name}: TensorLike | Sequence[TensorLike]"
    else:
        for index in range(entry["min_inputs"], len(operands)):
            operands[index] += " = ..."
        if operands:
            operands.append("/")
    attributes = [
        f"{name}: {TYPES[kind]}" + ("" if is_required else " = ...")
        for name, kind, is_required, _ in entry["attributes"]
    ]
    if attributes and not entry["is_variadic"]:
        attributes.insert(0, "*")
    outputs = entry["outputs"]
    if len(outputs) == 1 and not outputs[0].endswith("..."):
        result = "Tensor"
    elif len(outputs) == 1:
        result = "Any"  # one, or a tuple of them
    else:
        result = f"tuple[{', '.join(['Tensor'] * len(outputs))}]"
    parameters = ", ".join(operands + attributes)
    return f"def {entry['name']}({parameters}) -> {result}: ..."


def main():
    print("# Written by tools/make_stubs.py from the op registry.")
    print("from typing import Any, Sequence")
    print()
    print("from weft import DTypeLike, ShapeLike, Tensor, TensorLike")
    print()
    for entry in _weft.registry():
        print(stub(entry))


if __name__ == "__main__":
    main()
