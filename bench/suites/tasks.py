"""What models learn, against the same net elsewhere: each file
lib/tasks_NAME.py brings its own."""

from lib.bench import Bench, Setting
from lib.suite import benches_of


def benches(where: Setting) -> list[Bench]:
    return benches_of("tasks_", where)
