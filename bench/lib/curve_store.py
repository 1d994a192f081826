"""Curves of training that take minutes to hours each, and depend on no network:
kept in build/bench/comm/curves, and in docs/results/comm/curves.json, between
which bench/curves moves them.

A curve's key names all that it depends on. The sources are part of it, but a
curve that differs in nothing else is used all the same, and said to be of other
sources: training anew takes hours, and few changes move a curve.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

Points = list[tuple[int, float]]  # steps done, accuracy on the test images

# What a step computes and sends. Tests hold kernels and the runtime to the
# definitions of these, so that they move a curve by rounding only.
SOURCES = ("weft/autodiff", "weft/comm", "weft/data", "weft/nn", "weft/ops",
           "weft/optim", "weft/train")
TORCH_SOURCES = ("bench/peers/torch_ddp.py", "bench/peers/torch_models.py",
                 "bench/peers/training.py", "bench/requirements.txt")


@dataclass(frozen=True)
class CurveKey:
    side: str  # "weft", or the peer and its way
    recipe: str
    recipe_hash: str | None  # of its text
    data: str
    data_hash: str | None  # of the files' names and sizes
    workers: int
    seed: int | None
    steps: int
    settings: dict[str, str]  # what is changed in the recipe: batch, dtype, …
    sources: str | None  # a hash; null if not recorded

    def as_json(self) -> dict:
        return dict(vars(self))

    def but_for_sources(self) -> dict:
        return {**vars(self), "sources": None}


@dataclass(frozen=True)
class Curve:
    """`name` is for readers; `made` says where, by which commit and when."""
    name: str
    key: CurveKey
    made: dict
    points: Points

    def as_json(self) -> dict:
        return {"name": self.name, "key": self.key.as_json(),
                "made": self.made, "points": self.points}

    @staticmethod
    def of(found: dict) -> "Curve":
        return Curve(found["name"], CurveKey(**found["key"]), found["made"],
                     [tuple(point) for point in found["points"]])


def hash_of(texts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text).digest())
    return digest.hexdigest()[:16]


def sources_hash(root: Path, parts: Iterable[str]) -> str:
    files: list[Path] = []
    for part in parts:
        path = root / part
        files += [path] if path.is_file() else (
            each for each in path.rglob("*") if each.suffix in (".h", ".cpp"))
    return hash_of(text for path in sorted(files) for text in
                   (str(path.relative_to(root)).encode(), path.read_bytes()))


def data_hash(folder: Path) -> str:
    return hash_of(f"{path.name} {path.stat().st_size}".encode()
                   for path in sorted(folder.iterdir()) if path.is_file())


class CurveStore:
    """A folder with a file for each curve."""

    def __init__(self, folder: Path):
        self._folder = folder

    def curves(self) -> list[Curve]:
        return [Curve.of(json.loads(path.read_text()))
                for path in sorted(self._folder.glob("*.json"))]

    def find(self, key: CurveKey) -> Curve | None:
        """That curve; else one of other sources, which the caller must say."""
        found = [curve for curve in self.curves()
                 if curve.key.but_for_sources() == key.but_for_sources()]
        exact = [curve for curve in found if curve.key == key]
        return next(iter(exact or found), None)

    def add(self, curve: Curve) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        key = json.dumps(curve.key.as_json(), sort_keys=True).encode()
        name = re.sub(r"[^\w.=-]+", "-", f"{curve.key.recipe} {curve.name}")
        path = self._folder / f"{name}-{hash_of([key])}.json"
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(curve.as_json()) + "\n")
        partial.replace(path)


def read(path: Path) -> list[Curve]:
    return [Curve.of(found) for found in json.loads(path.read_text())["curves"]]


def write(path: Path, curves: Iterable[Curve]) -> None:
    """One curve a line, so that a change shows as one."""
    lines = ",\n".join(json.dumps(curve.as_json()) for curve in sorted(
        curves, key=lambda each: (each.key.recipe, each.name,
                                  json.dumps(each.key.as_json()))))
    path.write_text('{"curves": [\n' + lines + "\n]}\n")


def export(store: CurveStore, path: Path) -> int:
    """Adds the folder's curves to the file, in the place of those of the same
    key; how many the file did not have."""
    kept = read(path) if path.exists() else []
    new = store.curves()
    keys = [curve.key for curve in new]
    others = [curve for curve in kept if curve.key not in keys]
    write(path, [*others, *new])
    return len(others) + len(new) - len(kept)


def import_(store: CurveStore, path: Path) -> int:
    """Adds the file's curves to the folder but for those that it has; how
    many."""
    keys = [curve.key for curve in store.curves()]
    new = [curve for curve in read(path) if curve.key not in keys]
    for curve in new:
        store.add(curve)
    return len(new)
