"""Our side of the races of single ops: each is staged and called from Python."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
import weft  # noqa: E402

from lib.op_cases import Case  # noqa: E402
from lib.op_racer import arrays, main  # noqa: E402


def vjp(function, dy, *inputs):
    """The gradients of all inputs of a function of one result."""
    return weft.grad(lambda *xs: (function(*xs) * dy).sum(),
                     tuple(range(len(inputs))))(*inputs)


NAMES = {**vars(weft.ops), **{name: getattr(weft, name)
                              for name in weft.functions.__all__},
         "ops": weft.ops, "linalg": weft.linalg, "vjp": vjp}


class Weft:
    def __init__(self, threads: int):
        weft.set_threads(threads)

    def prepare(self, case: Case):
        tensors = [weft.tensor(array).cast(case.inputs[name].dtype)
                   for name, array in arrays(case).items()]
        function = eval(f"lambda {', '.join(case.inputs)}: {case.weft}",
                        {**NAMES, **case.numbers})
        staged = weft.jit(function)
        return lambda: staged(*tensors)

    def results(self, case: Case, result) -> list[np.ndarray]:
        several = isinstance(result, (tuple, list))
        return [numbers(each) for each in (result if several else [result])]


def numbers(tensor: weft.Tensor) -> np.ndarray:
    sixteen = tensor.dtype in ("bf16", "f16")
    return (tensor.cast("f32") if sixteen else tensor).numpy()


if __name__ == "__main__":
    main(Weft)
