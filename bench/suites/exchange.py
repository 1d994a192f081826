"""Where people already are: models of other systems, and in them."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("exchange_", where)
