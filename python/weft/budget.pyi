from dataclasses import dataclass
from os import PathLike
from typing import Any, Iterable, Union

Location = Union[str, PathLike[str]]

@dataclass(frozen=True)
class Claim:
    name: str
    standing: str
    because: str
    @property
    def is_granted(self) -> bool: ...

def add(
    ledger: Location,
    blocks: Iterable[str],
    *,
    epsilon: float = ...,
    delta: float = ...,
    scheduler: str = ...,
    unlocking: str = ...,
    period: float | None = ...,
) -> None: ...
def show(ledger: Location) -> dict[str, Any]: ...
def grant(
    ledger: Location,
    claim: str,
    blocks: Iterable[str],
    mechanism: str,
    *,
    job: str = ...,
    weight: float = ...,
    wait: float = ...,
) -> Claim: ...
def begin(ledger: Location, claim: str) -> None: ...
def release(ledger: Location, claim: str) -> None: ...
