"""A table of where training curves end:

<!-- curves RECIPE -->   what stands between is replaced
<!-- end -->
"""

import re
from collections.abc import Iterable

from lib.curve_store import Curve

MARKER = re.compile(r"(<!-- curves (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
RATE = re.compile(r"from=([\d.e-]+)")


def filled(page: str, curves: Iterable[Curve]) -> str:
    kept = list(curves)
    return MARKER.sub(lambda match: match[1] + table(
        [curve for curve in kept if curve.key.recipe == match[2]]) + match[3],
        page)


def table(curves: list[Curve]) -> str:
    """A row for each rate, batch and number of steps, a column for each way;
    the accuracies of the seeds."""
    cells: dict[tuple, dict[str, list[str]]] = {}
    ways: list[str] = []
    for curve in sorted(curves, key=lambda each: (each.key.side, each.name)):
        way = re.sub(r"(, seed \d+)?, \d+ steps$", "", curve.name)
        ways += [] if way in ways else [way]
        step, accuracy = curve.points[-1]
        text = f"{accuracy:.4f}"
        if step != curve.key.steps:
            text += f" (step {step:,})"
        cells.setdefault(run_of(curve), {}).setdefault(way, []).append(text)
    lines = ["", f"| rate, batch, steps | {' | '.join(ways)} |",
             "| --- |" + " --- |" * len(ways)]
    for (rate, batch, steps), found in sorted(cells.items(), reverse=True):
        row = " | ".join(", ".join(found.get(way, [])) for way in ways)
        lines.append(f"| {rate:g}, {batch}, {steps:,} | {row} |")
    return "\n".join(lines) + "\n\n"


def run_of(curve: Curve) -> tuple[float, int, int]:
    settings = curve.key.settings
    rate = settings.get("lr") or RATE.search(settings["optimizer.lr"])[1]
    batch = settings.get("batch") or settings["train.batch"]
    return float(rate), int(batch), curve.key.steps
