"""Books: what is kept, what data hold, what privacy is left, which model is better,
and who is paid."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("ledgers_", where)
