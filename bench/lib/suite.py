"""What the suites have in common."""

import importlib
import json
import pkgutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import lib
from lib.bench import Bench, Setting
from lib.worker import WorkerError


def benches_of(prefix: str, where: Setting) -> list[Bench]:
    """Those that the files lib/PREFIX*.py bring, each by `benches(where)`."""
    parts = sorted(module.name for module in pkgutil.iter_modules(lib.__path__)
                   if module.name.startswith(prefix))
    return [bench for part in parts
            for bench in importlib.import_module(f"lib.{part}").benches(where)]


def answer(command: list) -> dict:
    """The JSON that a program prints."""
    done = subprocess.run(list(map(str, command)), capture_output=True,
                          text=True)
    if done.returncode:
        raise WorkerError(f"{command[0]} ended with code {done.returncode}: "
                          f"{done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def python(where: Setting, program: str) -> list:
    """Runs with the system's Python, for which the package was built."""
    return ["env", f"PYTHONPATH={where.build / 'python'}",
            "GOMP_SPINCOUNT=10000", "/usr/bin/python3",
            where.root / "bench/worker" / program]


def draw(where: Setting, name: str, svg: str) -> None:
    if where.pictures:
        where.pictures.mkdir(parents=True, exist_ok=True)
        (where.pictures / f"{name}.svg").write_text(svg)


def marked(where: Setting, note: str) -> str:
    return f"quick: {note}" if where.quick else note


def initial_weights(where: Setting, model: str) -> Path:
    """The weights that both sides begin with; written where they are older than
    what makes them, as those of a Transformer take a minute."""
    path = where.build / "bench" / f"{model}.safetensors"
    makers = [where.root / "bench/lib" / f"{name}.py"
              for name in ("models", "philox", "safetensors", "synthetic")]
    if path.exists() and path.stat().st_mtime > max(
            maker.stat().st_mtime for maker in makers):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([where.peers.python,
                    where.root / "bench/peers/make_weights.py", model,
                    "--out", path], check=True)
    return path


def or_error(measure: Callable[[], dict]) -> dict:
    """Measures one row of several: a failure must not take the others
    along."""
    try:
        return measure()
    except WorkerError as error:
        return {"error": str(error)}
