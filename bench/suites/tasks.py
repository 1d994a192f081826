"""Tasks, a recipe at a time, against the same net on the same batches in
PyTorch: each file lib/tasks_NAME.py brings its own."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("tasks_", where)
