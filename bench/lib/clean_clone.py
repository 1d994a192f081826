"""A clone of what is committed, in an empty folder: what a newcomer has.

The compiler's cache is empty there, and so is Weft's own. The packages are
those of this machine, so that apt has nothing to install."""

import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lib.worker import WorkerError

SHOWN = 1500  # characters of the output of a command that fails


@dataclass(frozen=True)
class Done:
    minutes: float
    processor_minutes: float
    output: str

    def line(self, pattern: str) -> str:
        """The last line that has it; a command that ends well without having
        said it has not done what was timed."""
        lines = [line for line in self.output.splitlines()
                 if re.search(pattern, line)]
        if not lines:
            raise WorkerError(f"no line has {pattern!r}:\n"
                              f"{self.output[-SHOWN:]}")
        return lines[-1]


@dataclass(frozen=True)
class CleanClone:
    folder: Path
    environment: dict[str, str]
    cores: int

    def run(self, *command: str) -> Done:
        """Timed as its user waits; by as many cores as the row has threads."""
        cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:self.cores]))
        before, started = _children_seconds(), time.monotonic()
        done = subprocess.run(["taskset", "-c", cores, *command],
                              cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        seconds = time.monotonic() - started
        if done.returncode:
            raise WorkerError(f"{' '.join(command)} ended with code "
                              f"{done.returncode}:\n{done.stdout[-SHOWN:]}")
        return Done(seconds / 60, (_children_seconds() - before) / 60,
                    done.stdout)


@contextmanager
def clean_clone(root: Path, cores: int, **environment: str
                ) -> Iterator[CleanClone]:
    folder = Path(tempfile.mkdtemp(prefix="weft-clone-"))
    try:
        subprocess.run(["git", "clone", "--quiet", root, folder / "weft"],
                       check=True)
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("CCACHE_", "WEFT_", "PYTHON"))}
        yield CleanClone(folder / "weft", {
            **kept, "CCACHE_DIR": str(folder / "ccache"),
            "XDG_CACHE_HOME": str(folder / "cache"), **environment}, cores)
    finally:
        shutil.rmtree(folder)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
