"""Races two sides in turns, and says how far apart they are."""

import time
from dataclasses import dataclass
from statistics import median
from typing import Protocol

PAUSE_S = 0.02  # lets the other side's spinning threads fall asleep
WARM_UP_BLOCKS = 2


class Side(Protocol):
    """Something that does one timed block of work when asked."""

    def ask(self, request: str) -> dict: ...


@dataclass(frozen=True)
class Race:
    """Medians of the two sides; `ratio` is the median of the pairs' ratios.

    `low` and `high` are the smallest and the largest ratio of any pair.
    """
    ours: float
    peer: float
    ratio: float
    low: float
    high: float
    our_rates: tuple[float, ...]
    peer_rates: tuple[float, ...]


def rate(side: Side) -> float:
    """Work per second of one block."""
    answer = side.ask("run")
    return answer["work"] / answer["seconds"]


def race(ours: Side, peer: Side, pairs: int) -> Race:
    """Runs `pairs` pairs of blocks, one of each side after the other.

    Who starts alternates, so that neither always runs on a warmer machine.
    """
    for side in (ours, peer) * WARM_UP_BLOCKS:
        rate(side)
    rates = []
    for pair in range(pairs):
        order = (ours, peer) if pair % 2 == 0 else (peer, ours)
        measured = {}
        for side in order:
            time.sleep(PAUSE_S)
            measured[side] = rate(side)
        rates.append((measured[ours], measured[peer]))
    return summary(rates)


def summary(rates: list[tuple[float, float]]) -> Race:
    ratios = [a / b for a, b in rates]
    our_rates, peer_rates = zip(*rates)
    return Race(median(our_rates), median(peer_rates), median(ratios),
                min(ratios), max(ratios), our_rates, peer_rates)


def largest_gap(ours: list[float], theirs: list[float]) -> float:
    """The largest relative difference of two equally long lists."""
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} values against {len(theirs)}")
    return max(abs(a - b) / max(abs(b), 1e-30)
               for a, b in zip(ours, theirs))
