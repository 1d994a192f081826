"""Where people already are: files of others, what serving takes, and what is told
of a run."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("exchange_", where)
