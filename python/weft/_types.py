"""What functions take, as names for annotations."""

from typing import Any, Sequence, Union

import numpy as np

from weft._weft import Dim, Tensor, Variable

DimLike = Union[int, Dim]
ShapeLike = Union[DimLike, Sequence[DimLike]]
DTypeLike = Union[str, type, np.dtype]
TensorLike = Union[
    Tensor, Variable, np.ndarray, np.generic, float, Sequence[Any]
]
