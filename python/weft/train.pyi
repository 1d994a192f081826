from os import PathLike
from typing import Any, Iterable, Iterator, Mapping, Protocol, Sequence
from typing import TypedDict, Union

from weft import Tensor, TensorLike, TensorType
from weft.nn import Module
from weft.optim import Optimizer

class _Epoch(TypedDict):
    epoch: int
    step: int
    lr: float
    train: dict[str, float]
    held_out: dict[str, float]
    is_best: bool
    seconds: float
    samples_per_s: float

class Loop:
    @property
    def steps_done(self) -> int: ...
    @property
    def steps_in_all(self) -> int: ...
    @property
    def folder(self) -> str: ...
    @property
    def deciding_metric(self) -> str: ...
    @property
    def train(self) -> dict[str, float]: ...
    @property
    def epoch(self) -> _Epoch: ...
    def end_here(self) -> None: ...

class TrainResult:
    @property
    def steps(self) -> int: ...
    @property
    def epochs(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def train_loss(self) -> float: ...
    @property
    def best_epoch(self) -> int: ...
    @property
    def samples_per_s(self) -> float: ...
    @property
    def workers(self) -> int: ...
    @property
    def seconds_here(self) -> float: ...
    @property
    def test(self) -> dict[str, float]: ...
    @property
    def checkpoint(self) -> str: ...

class _Batches(Protocol):
    @property
    def inputs(self) -> Mapping[str, TensorType]: ...
    @property
    def batches(self) -> int: ...
    def batch(self, epoch: int, number: int) -> Sequence[TensorLike]: ...

_Part = Union[Mapping[str, TensorLike], _Batches]

class Data:
    def __init__(
        self,
        train: _Part,
        *,
        test: _Part | None = ...,
        valid: _Part | None = ...,
        classes: int | Sequence[str] | None = ...,
        name: str = ...,
    ) -> None: ...

class _Formula(Protocol):
    # slots(name, type) may be left out.
    def update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        slots: dict[str, Tensor],
        lr: Tensor,
        step: Tensor,
    ) -> Tensor | tuple[Tensor, dict[str, Tensor]]: ...

class Trainer:
    def __init__(
        self,
        recipe: str | PathLike[str] | None = ...,
        settings: Mapping[str, Any] | None = ...,
        *,
        model: Module | None = ...,
        data: Data | None = ...,
        optimizer: Optimizer | _Formula | None = ...,
        resume: bool = ...,
    ) -> None: ...
    def run(self, callbacks: Iterable[object] = ...) -> TrainResult: ...

def simulate(
    recipe: str | PathLike[str],
    settings: Mapping[str, Any] | None = ...,
    *,
    resume: bool = ...,
) -> TrainResult: ...

class Step:
    def __init__(
        self,
        recipe: str | PathLike[str] | None = ...,
        settings: Mapping[str, Any] | None = ...,
        *,
        model: Module | None = ...,
        data: Data | None = ...,
        optimizer: Optimizer | _Formula | None = ...,
    ) -> None: ...
    def batches(self) -> Iterator[tuple[Tensor, ...]]: ...
    def train(
        self, batch: Sequence[TensorLike], lr: float | None = ...
    ) -> dict[str, float]: ...
    def evaluate(self, part: str | None = ...) -> dict[str, float]: ...
    def predict(self, *inputs: TensorLike) -> tuple[Tensor, ...]: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def export(self, path: str | PathLike[str]) -> None: ...
    def load(self, path: str | PathLike[str]) -> None: ...
    @property
    def steps_done(self) -> int: ...
    @property
    def batches_per_epoch(self) -> int: ...

def export(
    checkpoint: str | PathLike[str],
    path: str | PathLike[str],
    *,
    data: str | PathLike[str] = ...,
) -> None: ...
