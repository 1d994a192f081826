from types import TracebackType
from typing import Any, Callable, Mapping, Sequence

from weft import DTypeLike, ShapeLike, Tensor, TensorLike, Variable

class Module:
    def __init__(self) -> None: ...
    def parameter(
        self,
        name: str,
        shape: ShapeLike,
        init: str = ...,
        scale: float = ...,
        is_trainable: bool = ...,
    ) -> Variable: ...
    def parameters(self, trainable_only: bool = ...) -> dict[str, Variable]: ...
    def initialize(self, seed: int) -> None: ...
    def state_dict(self) -> dict[str, Tensor]: ...
    def load_state_dict(
        self, state: Mapping[str, TensorLike], strict: bool = ...
    ) -> tuple[list[str], list[str]]: ...
    def train(self, is_training: bool = ...) -> None: ...
    @property
    def is_training(self) -> bool: ...
    @property
    def parameter_count(self) -> int: ...
    @property
    def name(self) -> str: ...

class Layer(Module):
    def __call__(self, x: TensorLike) -> Tensor: ...

class Sequential(Module):
    def __init__(self, *parts: Callable[[Any], Tensor]) -> None: ...
    def __call__(self, x: TensorLike) -> Tensor: ...

class ModuleList(list[Any]): ...
class ModuleDict(dict[str, Any]): ...

class Linear(Layer):
    def __init__(self, inputs: int, outputs: int, bias: bool = ...) -> None: ...

class Conv1d(Layer):
    # Without a padding, as many outputs as inputs per stride.
    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int = ...,
        padding: int | None = ...,
        dilation: int = ...,
        groups: int = ...,
        bias: bool = ...,
    ) -> None: ...

class Conv2d(Layer):
    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int | tuple[int, int],
        stride: int = ...,
        padding: int | None = ...,
        dilation: int = ...,
        groups: int = ...,
        bias: bool = ...,
    ) -> None: ...

class ConvTranspose2d(Layer):
    # Without a padding, `stride` outputs per input.
    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int = ...,
        padding: int | None = ...,
        output_padding: int = ...,
        dilation: int = ...,
        groups: int = ...,
        bias: bool = ...,
    ) -> None: ...

class MultiHeadAttention(Layer):
    def __init__(
        self, width: int, heads: int, causal: bool = ..., bias: bool = ...
    ) -> None: ...
    def __call__(
        self,
        x: TensorLike,
        context: TensorLike | None = ...,
        mask: TensorLike | None = ...,
    ) -> Tensor: ...

class BatchNorm(Layer):
    def __init__(
        self, channels: int, epsilon: float = ..., momentum: float = ...
    ) -> None: ...

class LayerNorm(Layer):
    def __init__(self, width: int, epsilon: float = ...) -> None: ...

class RmsNorm(Layer):
    def __init__(self, width: int, epsilon: float = ...) -> None: ...

class GroupNorm(Layer):
    def __init__(
        self, groups: int, channels: int, epsilon: float = ...
    ) -> None: ...

class Embedding(Layer):
    def __init__(self, words: int, width: int) -> None: ...

class Dropout(Layer):
    def __init__(self, rate: float) -> None: ...

class Lstm(Layer):
    def __init__(
        self,
        inputs: int,
        hidden: int,
        layers: int = ...,
        carried_batch: int = ...,
        dropout: float = ...,
    ) -> None: ...

class Gru(Layer):
    def __init__(
        self,
        inputs: int,
        hidden: int,
        layers: int = ...,
        carried_batch: int = ...,
        dropout: float = ...,
    ) -> None: ...

class Sru(Layer):
    def __init__(
        self,
        inputs: int,
        hidden: int,
        layers: int = ...,
        carried_batch: int = ...,
        dropout: float = ...,
    ) -> None: ...

class MaxPool2d(Layer):
    def __init__(
        self,
        window: int,
        stride: int = ...,
        padding: int = ...,
        ceil: bool = ...,
    ) -> None: ...

class AvgPool2d(Layer):
    def __init__(
        self,
        window: int,
        stride: int = ...,
        padding: int = ...,
        ceil: bool = ...,
    ) -> None: ...

class AdaptiveAvgPool2d(Layer):
    def __init__(self, size: int) -> None: ...

class GlobalAvgPool(Layer): ...
class Flatten(Layer): ...
class Relu(Layer): ...

class ResidualBlock(Layer):
    def __init__(self, inputs: int, outputs: int, stride: int = ...) -> None: ...

class _Scope:
    def __enter__(self) -> None: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

class random_key(_Scope):
    def __init__(self, key: TensorLike) -> None: ...

class precision(_Scope):
    def __init__(self, dtype: DTypeLike) -> None: ...

class recurrent_weights(_Scope):
    def __init__(self, dtype: DTypeLike) -> None: ...

def models() -> dict[str, str]: ...
def layers() -> dict[str, str]: ...
def views() -> dict[str, str]: ...
def view_parameters(
    model: Module, views: Mapping[str, str], seed: int = ...
) -> None: ...
def seen_values(model: Module) -> dict[str, Tensor]: ...
def model(
    name: str,
    example: ShapeLike,
    classes: int = ...,
    words: int = ...,
    lanes: int = ...,
    categories: Sequence[int] = ...,
    **options: Any,
) -> Layer: ...
