from typing import Any, Callable, Iterable, Mapping, Sequence, overload

from weft import Tensor, TensorLike, Variable

Variables = Mapping[str, Variable] | Iterable[Variable]

class Optimizer:
    def __init__(
        self,
        name: str,
        variables: Variables,
        lr: float | None = ...,
        *,
        wrap: Sequence[str] = ...,
        **options: Any,
    ) -> None: ...
    def update(
        self, gradients: Mapping[str, TensorLike] | Iterable[TensorLike]
    ) -> None: ...
    def slots(self) -> dict[str, Variable]: ...
    def used(self) -> dict[str, Variable] | list[Variable]: ...
    @property
    def learning_rate(self) -> Variable: ...
    @property
    def step(self) -> Variable: ...

class Private:
    def __init__(
        self,
        optimizer: Optimizer,
        loss: Callable[..., TensorLike],
        *,
        examples: int,
        batch: int,
        clip_norm: float = ...,
        noise: float | None = ...,
        epsilon: float | None = ...,
        delta: float = ...,
        steps: int | None = ...,
        rows: int | None = ...,
        seed: int = ...,
        accountant: str = ...,
        key: bytes | None = ...,
    ) -> None: ...
    def sample(self) -> list[int]: ...
    def update(self, *batch: TensorLike) -> float: ...
    def epsilon(self, delta: float) -> float: ...
    @property
    def optimizer(self) -> Optimizer: ...
    @property
    def noise(self) -> float: ...
    @property
    def rate(self) -> float: ...
    @property
    def steps_per_epoch(self) -> int: ...
    @property
    def step(self) -> Variable: ...

class schedule:
    def __init__(
        self, text: str, steps: int, *, steps_per_epoch: int | None = ...
    ) -> None: ...
    def __call__(self, step: int) -> float: ...

def schedules() -> dict[str, str]: ...
@overload
def clip_by_global_norm(  # type: ignore[misc]
    gradients: Mapping[str, TensorLike], max_norm: float
) -> dict[str, Tensor]: ...
@overload
def clip_by_global_norm(
    gradients: Iterable[TensorLike], max_norm: float
) -> Sequence[Tensor]: ...
def adafactor(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def adagrad(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def adam(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def adamw(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def lamb(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def lars(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def lion(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def momentum(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def nesterov(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def prodigy(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def rmsprop(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def sgd(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
def yellowfin(
    variables: Variables,
    lr: float = ...,
    *,
    wrap: Sequence[str] = ...,
    **options: Any,
) -> Optimizer: ...
