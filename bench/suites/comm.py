"""The bars of training across machines: each file lib/comm_NAME.py brings its
own. Rows whose names begin with `lab` need root and take minutes each: see
bench/netlab."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("comm_", where)
