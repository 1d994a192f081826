"""Where people already are: models of other systems, and in them."""
"""Where people already are: files of others, servers, and what serving costs."""
"""Where people already are: files of others, and what serving takes."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("exchange_", where)
