"""What the suites have in common."""

import json
import subprocess

from lib.bench import Setting
from lib.worker import WorkerError


def answer(command: list) -> dict:
    """The JSON that a program prints."""
    done = subprocess.run(list(map(str, command)), capture_output=True,
                          text=True)
    if done.returncode:
        raise WorkerError(f"{command[0]} ended with code {done.returncode}: "
                          f"{done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def draw(where: Setting, name: str, svg: str) -> None:
    if where.pictures:
        where.pictures.mkdir(parents=True, exist_ok=True)
        (where.pictures / f"{name}.svg").write_text(svg)


def marked(where: Setting, note: str) -> str:
    return f"quick: {note}" if where.quick else note
