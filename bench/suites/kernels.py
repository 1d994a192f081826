"""Kernels, one op or one loop at a time, and what it takes to plan them: each
file lib/kernels_NAME.py brings its own."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("kernels_", where)
