"""onnxruntime's side of the races of single ops."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnxruntime.capi.onnxruntime_pybind11_state import (  # noqa: E402
    NotImplemented as NoKernel)

from lib.op_cases import Case, Input  # noqa: E402
from lib.op_racer import Absent, arrays, main  # noqa: E402

OPSET, IR_VERSION = 23, 10
TYPES = {"f32": "float", "f64": "double", "f16": "float16",
         "bf16": "bfloat16", "i64": "int64", "i32": "int32", "u8": "uint8",
         "bool": "bool"}


class Onnxruntime:
    def __init__(self, threads: int):
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 4  # absent kernels are expected

    def prepare(self, case: Case):
        if not case.onnx:
            raise Absent("ONNX has no such op")
        given = {name: laid_out(array, case.inputs[name])
                  for name, array in arrays(case).items()}
        try:
            session = onnxruntime.InferenceSession(
                model(case, given), self.options,
                providers=["CPUExecutionProvider"])
        except NoKernel as error:
            raise Absent(str(error).split(":")[-1].strip())
        if any("bfloat16" in each.type
               for each in [*session.get_inputs(), *session.get_outputs()]):
            raise Absent("NumPy, which it is given tensors by, has no bf16")
        binding = session.io_binding()
        for taken in session.get_inputs():
            binding.bind_ortvalue_input(
                taken.name, onnxruntime.OrtValue.ortvalue_from_numpy(
                    given[taken.name]))
        for made in session.get_outputs():
            binding.bind_output(made.name, "cpu")

        def call():
            session.run_with_iobinding(binding)
            return binding
        return call

    def results(self, case: Case, result) -> list[np.ndarray]:
        return [made.transpose(0, 2, 3, 1)
                if case.has_images and made.ndim == 4 else made
                for made in result.copy_outputs_to_cpu()]


def laid_out(array: np.ndarray, given: Input) -> np.ndarray:
    if given.dtype == "f16":
        array = array.astype(np.float16)
    axes = {"image": (0, 3, 1, 2), "kernel": (3, 2, 0, 1)}.get(given.role)
    return np.ascontiguousarray(array.transpose(axes)) if axes else array


def model(case: Case, arrays: dict[str, np.ndarray]) -> bytes:
    inputs = ", ".join(
        f"{TYPES[case.inputs[name].dtype]}"
        f"[{','.join(map(str, array.shape))}] {name}"
        for name, array in arrays.items())
    names = ["y", "z"] if re.search(r"\bz\b.*=", case.onnx) else ["y"]
    made = onnx.parser.parse_model(
        f'<ir_version: {IR_VERSION}, opset_import: ["" : {OPSET}]>\n'
        f"op ({inputs}) => ({', '.join(names)}) {{ {case.onnx} }}")
    return onnx.shape_inference.infer_shapes(made).SerializeToString()


if __name__ == "__main__":
    main(Onnxruntime)
