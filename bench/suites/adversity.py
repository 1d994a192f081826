"""Training under adversity: slow and lossy networks, liars, stragglers, threads
without locks, and hyperparameters that nobody tuned."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("adversity_", where)
