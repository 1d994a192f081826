"""Weft: models as dataflow graphs that train and serve anywhere.

    import weft

    @weft.jit
    def step(x, w):
        return weft.tanh(x @ w).sum()

    loss, grads = weft.value_and_grad(step, argnums=1)(x, w)

Tensors share memory with NumPy and, by DLPack, with PyTorch and JAX. Ops run
at once; what weft.jit decorates runs as one graph. Mistakes raise weft.Error.
"""

from weft import _weft
from weft._weft import (
    Dim,
    Error,
    ExportedFunction,
    GraphFunction,
    InvalidArgument,
    Jit,
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
    restore,
    save,
    scan,
    tensor,
    while_loop,
)
from weft import nn, ops, optim
from weft._methods import install as _install_methods
from weft._types import DimLike, DTypeLike, ShapeLike, TensorLike
from weft.functions import *
from weft.transforms import grad, jit, value_and_grad

f32, f64, f16, bf16 = "f32", "f64", "f16", "bf16"
i8, u8, i16, i32, i64 = "i8", "u8", "i16", "i32", "i64"
bool_ = "bool"

_install_methods()
