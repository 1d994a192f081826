"""What a row of the op races is: one op, on inputs of given types, in the words of
each side. The table of all of them is lib/op_table.py."""

import re
from dataclasses import dataclass, field
from functools import cached_property

MB = 2**20
ITEM_BYTES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "i64": 8, "i32": 4,
              "u8": 1, "bool": 1}
# The sizes of an op that has no shape of its own: what stays in a cache of the
# second level or near it, and what does not stay in any.
SIZES = {"1 MB": MB, "64 MB": 64 * MB}


@dataclass(frozen=True)
class Input:
    """A tensor of numbers drawn evenly from [low, high)."""
    dtype: str
    shape: tuple[int, ...]
    low: float
    high: float
    # "image": [batch, rows, columns, channels]; "kernel": [rows, columns,
    # channels in, out]. Each side turns these into the layout that it has.
    role: str = ""


@dataclass(frozen=True)
class Case:
    """One row. Expressions are Python's, over inputs named a, b, c, …, in the
    names of the package `weft` with `weft.ops`, and of `torch` with
    `torch.nn.functional`; `onnx` are nodes in ONNX's text syntax that make y
    (and z), or empty where the standard has none. Both packages have
    `vjp(function, dy, *inputs)` too: the gradients of all inputs."""
    name: str
    inputs: dict[str, Input]
    weft: str
    torch: str
    onnx: str
    bar: float
    compared: str
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def has_images(self) -> bool:
        return any(given.role for given in self.inputs.values())

    @property
    def tolerance(self) -> float:
        """What may differ, as a share of the largest number of a result."""
        dtypes = {given.dtype for given in self.inputs.values()}
        return (5e-2 if "bf16" in dtypes else 1e-2 if "f16" in dtypes
                else 1e-9 if dtypes == {"f64"} else 2e-3)


@dataclass(frozen=True)
class Op:
    """A line of the table.

    `inputs` are separated by "; ": a dtype, a shape, and where the numbers are
    to lie or which part of a convolution it is, as in "f32[N/64, 64] 0..4" or
    "T[8, 56, 56, 64] image". T stands for each of `dtypes`, and N for as many
    elements of T as the size has. An op that does not say N has one size, its own. Of the dtypes, the first is measured in every size, the others in
    the first.
    """
    name: str
    weft: str
    torch: str
    onnx: str
    inputs: str
    dtypes: str = "f32"
    bar: float = 0.9
    # "values"; "magnitudes" where signs are free; "nothing" where both sides
    # draw random numbers of their own.
    compared: str = "values"

    @cached_property
    def cases(self) -> list[Case]:
        found = []
        for at, dtype in enumerate(self.dtypes.split()):
            if not _COUNT.search(self.inputs + self.weft):
                found.append(self._case(dtype, f"{self.name}, {dtype}", 0))
                continue
            for size, size_bytes in list(SIZES.items())[:1 if at else None]:
                found.append(self._case(dtype, f"{self.name}, {dtype}, {size}",
                                        size_bytes))
        return found

    def _case(self, dtype: str, name: str, size_bytes: int) -> Case:
        count = size_bytes // ITEM_BYTES[dtype]
        inputs = {letter: _input(text, dtype, count) for letter, text in zip(
            "abcdefgh", self.inputs.split("; "))}
        return Case(name, inputs, self.weft, self.torch,
                    self.onnx.replace("{N}", str(count)), self.bar,
                    self.compared, {"N": count})


_COUNT = re.compile(r"\bN\b")
_INPUT = re.compile(r"(\w+)\[(.*?)\](?: (\S+)\.\.(\S+)| (image|kernel))?$")


def _input(text: str, dtype: str, count: int) -> Input:
    match = _INPUT.match(text)
    if not match:
        raise ValueError(f"no input: {text!r}")
    kind, dims, low, high, role = match.groups()
    kind = dtype if kind == "T" else kind
    shape = tuple(_dim(dim, count) for dim in dims.split(",") if dim.strip())
    bounds = ((float(low), float(high)) if low else
              (0, 2) if kind == "bool" else
              (-2, 2) if kind.startswith(("f", "bf")) else (1, 100))
    return Input(kind, shape, *bounds, role or "")


def _dim(text: str, count: int) -> int:
    """"64", "N" or "N/64"."""
    number, _, divisor = text.strip().partition("/")
    number = count if number == "N" else int(number)
    return number // int(divisor or 1)
