"""How workers meet, on simulated clusters: what simulating costs, and what
policies gain there."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("rounds_", where)
