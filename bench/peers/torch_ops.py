"""PyTorch's side of the races of single ops."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

from lib.op_cases import Case, Input  # noqa: E402
from lib.op_racer import Absent, arrays, main  # noqa: E402

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16,
          "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
          "u8": torch.uint8, "bool": torch.bool}


def vjp(function, dy, *inputs):
    """The gradients of all inputs of a function of one result."""
    with torch.enable_grad():
        leaves = [x.detach().requires_grad_() for x in inputs]
        return torch.autograd.grad(function(*leaves), leaves, dy)


NAMES = {**vars(torch), **vars(F), "F": F, "vjp": vjp}


class Torch:
    def __init__(self, threads: int):
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def prepare(self, case: Case):
        tensors = [tensor(array, case.inputs[name])
                   for name, array in arrays(case).items()]
        function = eval(f"lambda {', '.join(case.inputs)}: {case.torch}",
                        {**NAMES, **case.numbers})
        try:
            function(*tensors)
        except RuntimeError as error:
            if "not implemented for" in str(error):
                raise Absent(str(error))
            raise
        return lambda: function(*tensors)

    def results(self, case: Case, result) -> list[np.ndarray]:
        several = isinstance(result, (tuple, list))
        return [numbers(case, each)
                for each in (result if several else [result])]


def tensor(array: np.ndarray, given: Input) -> torch.Tensor:
    """Images and kernels in channels-last memory, PyTorch's faster layout."""
    made = torch.from_numpy(array).to(DTYPES[given.dtype])
    if given.role == "image":
        return made.permute(0, 3, 1, 2)
    if given.role == "kernel":
        return made.permute(3, 2, 0, 1).contiguous(
            memory_format=torch.channels_last)
    return made


def numbers(case: Case, result: torch.Tensor) -> np.ndarray:
    if case.has_images and result.dim() == 4:
        result = result.permute(0, 2, 3, 1)
    sixteen = result.dtype in (torch.bfloat16, torch.float16)
    return (result.float() if sixteen else result).numpy()


if __name__ == "__main__":
    main(Torch)
