"""What a suite is made of, and what it may use."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from lib.peers import Peers
from lib.row import Row


@dataclass(frozen=True)
class Bar:
    """What a row must reach; `at_most` turns the comparison round. Without a
    bar a row is only shown."""
    name: str
    unit: str
    bar: float | None
    at_most: bool = False


@dataclass(frozen=True)
class Bench:
    """One measurement. It answers for each of its bars, by name, with the
    fields that it measured (those of Row)."""
    bars: tuple[Bar, ...]
    measure: Callable[[], dict[str, dict]]
    # What the machine must have to be measured under it (WEFT_CPU). A suite
    # lists the same rows on every machine, as its pages show those of all.
    cap: str | None = None

    def rows(self, suite: str, wanted: Callable[[str], bool]) -> list[Row]:
        """The wanted rows; a failure becomes rows that say so."""
        bars = [bar for bar in self.bars if wanted(bar.name)]
        if not bars:
            return []
        try:
            measured = self.measure()
        except Exception as error:  # one failed bench must not end the others
            reason = str(error) or type(error).__name__
            measured = {bar.name: {"error": reason} for bar in bars}
        return [Row(suite, bar.name, bar.unit, bar.bar, at_most=bar.at_most,
                    **measured.get(bar.name, {"error": "not measured"}))
                for bar in bars]


@dataclass(frozen=True)
class Setting:
    """Where things are and how carefully to measure."""
    root: Path  # of the repository
    build: Path
    data: Path | None
    peers: Peers
    threads: int = 2
    pairs: int = 9
    quick: bool = False  # fewer steps; rows say so
    pictures: Path | None = None  # where to draw
    fresh_curves: bool = False  # train what is kept of other sources anew
    # What lives longer than one measurement; closed when all are done.
    open: ExitStack = field(default_factory=ExitStack, compare=False)

    @property
    def worker(self) -> Path:
        return self.build / "bin" / "weft-bench"

    @property
    def concurrent_worker(self) -> Path:
        return self.build / "bin" / "weft-concurrent-bench"

    def data_folder(self, name: str) -> Path:
        """The folder of one data set; an error that says what is missing."""
        if self.data is None:
            raise FileNotFoundError(
                f"needs the data set {name}: give --data DIR or WEFT_DATA")
        if not (self.data / name).is_dir():
            raise FileNotFoundError(f"no folder {name} in {self.data}")
        return self.data / name


def matcher(pattern: str | None) -> Callable[[str], bool]:
    """A glob if it holds one of *?[, else any part of the name."""
    if not pattern:
        return lambda name: True
    glob = pattern if any(c in pattern for c in "*?[") else f"*{pattern}*"
    return lambda name: fnmatch(name.lower(), glob.lower())
