from dataclasses import dataclass
from os import PathLike
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

Rows = list[dict[str, Any]]
Data = Union[str, PathLike[str], Iterable[Mapping[str, Any]]]

@dataclass(frozen=True)
class Report:
    has_errors: bool
    anomalies: list[dict[str, str]]
    measurements: list[dict[str, Any]]
    accepted: str

@dataclass(frozen=True)
class Finding:
    message: str
    examples: Rows
    edit: str

def statistics(
    data: Data,
    *,
    weight: str = ...,
    slices: Sequence[str] = ...,
    label: str = ...,
    images: Iterable[str] = ...,
) -> dict[str, Any]: ...
def infer(
    data: Data,
    *,
    ranges: bool = ...,
    environments: Sequence[str] = ...,
    images: Iterable[str] = ...,
) -> str: ...
def check(
    data: Data,
    schema: str,
    *,
    environment: str = ...,
    previous: Data | None = ...,
    serving: Data | None = ...,
) -> Report: ...
def examples(
    schema: str, count: int = ..., *, seed: int = ..., environment: str = ...
) -> Rows: ...
def fuzz(
    schema: str,
    step: Callable[[Rows], object],
    *,
    count: int = ...,
    seed: int = ...,
    environment: str = ...,
    findings: int = ...,
    seconds: float = ...,
) -> list[Finding]: ...
