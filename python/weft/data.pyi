import os
from typing import Any, Iterator, Mapping, Sequence

from weft import Tensor, TensorLike, TensorType

class Batches:
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Tensor, ...]]: ...

class Dataset:
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> tuple[Tensor, ...]: ...
    @property
    def name(self) -> str: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def words(self) -> list[str]: ...
    @property
    def features(self) -> list[tuple[str, TensorType]]: ...
    def batches(
        self,
        batch: int,
        *,
        shuffle: bool = ...,
        seed: int = ...,
        drop_last: bool = ...,
        prefetch: int = ...,
        augment: Sequence[str] = ...,
    ) -> Batches: ...

def open(
    name: str,
    folder: str | os.PathLike[str] | None = ...,
    *,
    batch: int = ...,
    steps: int = ...,
    **options: Any,
) -> dict[str, Dataset]: ...
def from_arrays(
    arrays: Mapping[str, TensorLike],
    classes: Sequence[str] = ...,
    name: str = ...,
) -> Dataset: ...
def readers() -> dict[str, str]: ...
