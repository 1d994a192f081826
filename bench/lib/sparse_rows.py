"""Examples of linear models as LIBSVM's text: few features each, or all."""

import math
import random
from collections.abc import Callable
from pathlib import Path

SEED = 1

# A column of so many, by a random number in [0, 1).
Draw = Callable[[int, float], int]


def by_zipf(width: int, uniform: float) -> int:
    """As often as 1 / rank: the first columns, as the first words of a language,
    are in most rows."""
    return int(width ** uniform)


def by_root(width: int, uniform: float) -> int:
    """As often as 1 / sqrt(rank): the first is in few rows of a hundred."""
    return 1 + int(width * uniform ** 2)


def write_rows(path: Path, rows: int, width: int, draw: Draw | None) -> Path:
    """Rows of 50 to 100 of `width` columns, or of all; a class each, by a hidden
    model."""
    if path.exists():
        return path
    generator = random.Random(SEED)
    hidden = [generator.gauss(0, 1) for _ in range(width)]
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_suffix(".part")
    with written.open("w") as file:
        for _ in range(rows):
            chosen = set() if draw else set(range(1, width + 1))
            size = generator.randint(50, 100) if draw else width
            while len(chosen) < size:
                chosen.add(draw(width, generator.random()))
            value = 1 / math.sqrt(size)
            values = [value * (1 if draw else generator.gauss(0, 1))
                      for _ in range(size)]
            row = list(zip(sorted(chosen), values))
            score = sum(hidden[column - 1] * each for column, each in row)
            target = 1 if score + 0.3 * generator.gauss(0, 1) > 0 else -1
            file.write(f"{target} " + " ".join(
                f"{column}:{each:.4f}" for column, each in row) + "\n")
    written.rename(path)
    return path
