from os import PathLike
from typing import Any, Callable, Mapping, Union

from weft import ExportedFunction, TensorLike, TensorType

Path = Union[str, PathLike[str]]

def load(
    path: Path,
    *,
    shapes: Mapping[str, Any] | None = ...,
    fixed: Mapping[str, TensorLike] | None = ...,
) -> ExportedFunction: ...
def save(
    function: ExportedFunction | Callable[..., Any],
    path: Path,
    *examples: TensorLike | TensorType,
    **named: TensorLike | TensorType,
) -> None: ...
