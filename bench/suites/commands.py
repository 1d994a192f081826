"""The README's two commands, from a clean clone, until their last lines."""

from lib.bench import Bar, Bench, Setting
from lib.clean_clone import CleanClone, Done, clean_clone

FIRST = ("bin/weft", "train", "recipes/digits.toml")


def benches(where: Setting) -> list[Bench]:
    return [commands_bench(where),
            commands_bench(where, ", held to AVX2", WEFT_CPU="avx2")]


def commands_bench(where: Setting, how: str = "",
                   **environment: str) -> Bench:
    """`./test` follows the first command in the same clone, so that it builds
    what the first has not built."""
    first = Bar(f"first command{how}", "min", 6, at_most=True)
    test = Bar(f"./test after it{how}", "min", 9, at_most=True)

    def measure() -> dict:
        with clean_clone(where.root, where.threads, **environment) as clone:
            return {first.name: timed(clone, FIRST, "^best accuracy"),
                    test.name: timed(clone, ("./test",), " passed, 0 failed$")}

    return Bench((first, test), measure)


def timed(clone: CleanClone, command: tuple[str, ...], said: str) -> dict:
    done: Done = clone.run(*command)
    return {"ours": done.minutes, "ratio": done.minutes,
            "note": f"{done.processor_minutes:.1f} min of processor time; "
            f"“{done.line(said).strip()}”"}
