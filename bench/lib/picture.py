"""Charts as SVG, drawn like weft/train/curve.cpp draws its curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 460, 260  # of the plot area
LEFT, TOP, RIGHT, BOTTOM = 64, 40, 170, 48
LEGEND, LETTER = 45, 6.5  # around a name in the legend, of one of its letters
COLOURS = ("#1f6feb", "#d1563a", "#2f9e5b", "#8957c9", "#b8860b", "#8a8f98",
           "#0a8f9c", "#c2417c", "#5b6ee1", "#6b7d1f")

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    label: str
    low: float
    high: float
    is_log: bool

    @staticmethod
    def over(label: str, values: Sequence[float], is_log: bool,
             from_zero: bool = True) -> "Axis":
        low, high = min(values), max(values)
        if is_log:
            low, high = 10 ** floor(log10(low)), 10 ** ceil(log10(high))
        elif from_zero:
            low = min(low, 0)
        return Axis(label, low, high if high > low else low + 1, is_log)

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        if self.is_log:
            return log10(value / self.low) / log10(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        if self.is_log:
            count = round(log10(self.high / self.low))
            return [self.low * 10 ** i for i in range(count + 1)]
        rough = (self.high - self.low) / 5
        power = 10 ** floor(log10(rough))
        step = next(f * power for f in (10, 5, 2, 1) if f * power <= rough)
        first = ceil(self.low / step)
        return [i * step for i in range(first, floor(self.high / step) + 1)]


def chart(title: str, x_label: str, y_label: str,
          series: dict[str, Sequence[Point]], log_x: bool = False,
          log_y: bool = False, y_from_zero: bool = True) -> str:
    """One line with dots per entry of `series`, named at the right."""
    points = [point for line in series.values() for point in line]
    x = Axis.over(x_label, [p[0] for p in points], log_x)
    y = Axis.over(y_label, [p[1] for p in points], log_y, y_from_zero)
    parts = [_text(LEFT, 18, escape(title), weight=600)]
    parts += [_across(y, tick) for tick in y.ticks()]
    parts += [_text(_x(x, tick), TOP + HEIGHT + 16, f"{tick:,.6g}", "middle")
              for tick in x.ticks()]
    parts += [_text(LEFT + WIDTH / 2, TOP + HEIGHT + 36, escape(x_label),
                    "middle"),
              _text(LEFT, TOP - 8, escape(y_label))]
    for number, (name, line) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(_line([(_x(x, a), _y(y, b)) for a, b in line], colour))
        at = TOP + 10 + 16 * number
        parts.append(f'<line x1="{LEFT + WIDTH + 12}" '
                     f'x2="{LEFT + WIDTH + 28}" y1="{at - 4}" y2="{at - 4}" '
                     f'stroke="{colour}" stroke-width="2.4"/>')
        parts.append(_text(LEFT + WIDTH + 33, at, escape(name)))
    legend = LEGEND + LETTER * max(map(len, series))
    width = LEFT + WIDTH + ceil(max(RIGHT, legend))
    height = TOP + HEIGHT + BOTTOM
    return _document(width, height, parts)


def dots(title: str, x_label: str, values: dict[str, float]) -> str:
    """One dot per name over a scale of logarithms, sorted, the largest on top;
    those below 1 in another colour."""
    rows = sorted(values.items(), key=lambda row: -row[1])
    axis = Axis.over(x_label, list(values.values()), is_log=True)
    left, step = LEFT + ceil(LETTER * max(map(len, values))), 13
    bottom = TOP + step * len(rows)

    def x(value: float) -> float:
        return left + WIDTH * axis.place(value)

    parts = [_text(12, 18, escape(title), weight=600)]
    for tick in axis.ticks():
        parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" '
                     f'y2="{bottom}" stroke="#d8dbe0" stroke-width="0.7"/>')
        parts += [_text(x(tick), at, f"{tick:,.6g}", "middle")
                  for at in (TOP - 6, bottom + 14)]
    parts.append(_text(left + WIDTH / 2, bottom + 32, escape(x_label),
                       "middle"))
    for number, (name, value) in enumerate(rows):
        at = TOP + step * (number + 0.5)
        colour = COLOURS[0] if value >= 1 else COLOURS[1]
        parts += [_text(left - 8, at + 3.5, escape(name), "end"),
                  f'<circle cx="{x(value):.1f}" cy="{at:.1f}" r="3.2" '
                  f'fill="{colour}"/>']
    return _document(left + WIDTH + 24, bottom + BOTTOM, parts)


def _document(width: int, height: int, parts: list[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} '
            f'{height}" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="11" fill="#3d434c">\n'
            '<rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def _x(axis: Axis, value: float) -> float:
    return LEFT + WIDTH * axis.place(value)


def _y(axis: Axis, value: float) -> float:
    return TOP + HEIGHT * (1 - axis.place(value))


def _text(x: float, y: float, text: str, anchor: str = "start",
          weight: int = 400) -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{text}</text>')


def _across(axis: Axis, tick: float) -> str:
    y = _y(axis, tick)
    return (f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="#d8dbe0" stroke-width="0.7"/>\n'
            + _text(LEFT - 6, y + 3.5, f"{tick:,.6g}", "end"))


def _line(points: list[Point], colour: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" '
                   f'fill="{colour}"/>' for x, y in points)
    return (f'<polyline points="{path}" fill="none" stroke="{colour}" '
            f'stroke-width="1.8" stroke-linejoin="round"/>{dots}')
