"""The bars of weft/concurrent: each file lib/concurrent_NAME.py brings its
own."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("concurrent_", where)
