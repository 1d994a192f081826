"""What p99 over p50 a server has whose runs take always as long, and which does
nothing but run: by the law of its requests, and on a machine that stalls."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

# A processor's, as weft-stalls tells them: when each began, and for how long.
Stalls = Sequence[Sequence[float]]

# A run that takes along whatever waits is met by a request at any of its moments,
# so that this many runs are the median.
RUNS_OF_MEDIAN = 1.5


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

    @staticmethod
    def with_median(p50_s: float, capacity: float) -> "IdealServer":
        """That of this median and this many requests a second."""
        run_s = p50_s / RUNS_OF_MEDIAN
        return IdealServer(run_s, max(1, round(capacity * run_s)))

    def latencies(self, due: Sequence[float],
                  stalls: Stalls = ()) -> list[float]:
        """From when each request was due to its answer, in seconds. Where the
        machine stalls, a run stands still, and none begins."""
        found: list[float] = []
        left = iter([*stalls, (float("inf"), 0.0)])
        at, length = next(left)
        now = 0.0
        while len(found) < len(due):
            now = max(now, due[len(found)])
            while at <= now:
                now = max(now, at + length)
                at, length = next(left)
            end = now + self.run_s
            while at < end:
                end += length
                at, length = next(left)
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


def best_tail(server: IdealServer, due: Sequence[float],
              processors: Sequence[Stalls]) -> float:
    """On the processor whose stalls cost it least: a request of a real server
    passes several."""
    return min(tail(server.latencies(due, stalls)) for stalls in processors)
