"""What p99 over p50 a server has whose runs take always as long, and which does
nothing but run, by the law of its requests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random


def arrivals(law: str, rate: float, seconds: float) -> list[float]:
    """When requests are due: by the laws of weft-serve-load."""
    if law == "even":
        return [i / rate for i in range(int(rate * seconds))]
    random, now, due = Random(1), 0.0, []
    while now < seconds:
        due.append(now)
        now += random.expovariate(rate)
    return due


@dataclass(frozen=True)
class IdealServer:
    """A run takes `run_s`, and begins with all that wait, `most` of them at most, as
    soon as the one before has ended."""
    run_s: float
    most: float = float("inf")

    def latencies(self, due: Sequence[float]) -> list[float]:
        """From when each request was due to its answer, in seconds."""
        found: list[float] = []
        now = 0.0
        while len(found) < len(due):
            now = max(now, due[len(found)])
            end = now + self.run_s
            first = last = len(found)
            while (last < len(due) and due[last] <= now and
                   last - first < self.most):
                last += 1
            found += [end - each for each in due[first:last]]
            now = end
        return found


def tail(latencies: Iterable[float]) -> float:
    """p99 over p50, as weft-serve-load takes them."""
    ordered = sorted(latencies)
    p50, p99 = (ordered[int(share * (len(ordered) - 1))]
                for share in (0.5, 0.99))
    return p99 / p50
