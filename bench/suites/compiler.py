"""The compiler: graph substitutions by measured cost, restructured batch norm,
and recurrent networks as loops."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("compiler_", where)
