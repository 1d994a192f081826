"""Weft: models as dataflow graphs that train and serve anywhere.

    import weft

    @weft.jit
    def step(x, w):
        return weft.tanh(x @ w).sum()

    loss, grads = weft.value_and_grad(step, argnums=1)(x, w)

Tensors share memory with NumPy and, by DLPack, with what else speaks it, as
PyTorch and JAX do: read only, or a copy for those that know no such memory.
Numbers and lists of Python become f32, i64 or bool; what has a dtype, as
np.float64(1.1), keeps it. Ops run
at once; what weft.jit decorates runs as one graph. Mistakes raise weft.Error.

Ops compute on as many threads as there are cores, or as set_threads() says.
"""

import os

# OpenMP's threads spin at a barrier before they sleep, by default for so long
# that other programs lose their cores, and this one a factor of ten. It reads
# the environment once, when the library is loaded.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

from weft import _weft
from weft._weft import (
    Dim,
    Error,
    ExportedFunction,
    GraphFunction,
    IndexError,
    InvalidArgument,
    Jit,
    Model,
    PullBack,
    Restored,
    Tape,
    Tensor,
    TensorType,
    Unsupported,
    Variable,
    cond,
    device,
    devices,
    from_dlpack,
    host_func,
    init_scope,
    memory,
    open_model,
    profile,
    restore,
    save,
    scan,
    set_threads,
    switch,
    tensor,
    threads,
    while_loop,
)
from weft import budget, data, gate, ledger, linalg, market, nn, onnx, ops, optim
from weft import random, train, validation
from weft._methods import install as _install_methods
from weft._types import DimLike, DTypeLike, ShapeLike, TensorLike
from weft._control import associative_scan, fori_loop
from weft.functions import *
from weft.transforms import (
    custom_gradient,
    grad,
    hessian,
    jacobian,
    jit,
    jvp,
    remat,
    value_and_grad,
    vjp,
    vmap,
)

f32, f64, f16, bf16 = "f32", "f64", "f16", "bf16"
i8, u8, i16, i32, i64 = "i8", "u8", "i16", "i32", "i64"
bool_ = "bool"

_install_methods()
