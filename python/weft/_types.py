"""What functions take, as names for annotations."""

from typing import TYPE_CHECKING, Any, Sequence, Union

from weft._weft import Dim, Tensor, Variable

if TYPE_CHECKING:  # NumPy takes longer to import than all of Weft
    import numpy as np

DimLike = Union[int, Dim]
ShapeLike = Union[DimLike, Sequence[DimLike]]
DTypeLike = Union[str, type, "np.dtype"]
TensorLike = Union[
    Tensor, Variable, "np.ndarray", "np.generic", float, Sequence[Any]
]
