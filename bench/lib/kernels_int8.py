"""Products and convolutions of small integers beside the same of f32, and a
whole quantized layer: product, scales, bias, relu, the next layer's integers."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.machine import has
from lib.measure import race
from lib.worker import Worker

# What a row is called, and how many runs make a block of some 0.1 s.
FORMS = {"product": ("product 1024³", 40),
         "transformer": ("product 1024 × 768 × 3072", 20),
         "row": ("product of one row, 1024²", 4000),
         "layer": ("layer 1024 × 768 × 3072", 20),
         "conv": ("convolution 3 × 3, 16 × 28² × 128", 20),
         "pixel-conv": ("convolution 1 × 1, 16 × 28² × 128 to 512", 40),
         "conv-layer": ("convolution layer 3 × 3, 16 × 28² × 128", 20)}
LEAST = 2.0  # where there are instructions for it
# Where f32 has an algorithm of fewer multiplications, Winograd's, which small
# integers are too short for.
FEWER = ("conv", "conv-layer")


def benches(where: Setting) -> list[Bench]:
    found = [bench(where, form, dtype)
             for form in FORMS for dtype in ("u8", "i8")]
    found += [bench(where, form, dtype, by_sums=True)
              for form in FEWER for dtype in ("u8", "i8")]
    # Without those instructions the same products are exact, not fast.
    return found + [bench(where, form, "u8", "avx2") for form in FORMS]


def bench(where: Setting, form: str, dtype: str, cap: str = "",
          by_sums: bool = False) -> Bench:
    name = f"{FORMS[form][0]}: {dtype} × i8 over f32"
    name += " by as many multiplications" if by_sums else ""
    least = LEAST if is_fast(form, cap) else None
    bar = Bar(name + (f" on {cap}" if cap else ""), "op/s", least)
    settings = [f"WEFT_CPU={cap}"] if cap else []
    # A choice by rank convolves by sums of all products.
    of_f32 = [*settings, "WEFT_KERNELS=ranked"] if by_sums else settings
    return Bench((bar,), partial(race_dtypes, where, form, dtype, settings,
                                 of_f32, bar), cap or None)


def is_fast(form: str, cap: str) -> bool:
    """Whether instructions multiply bytes and add the products up; a product of
    one row waits for memory."""
    return form != "row" and not cap and (has("avx512_vnni") or has("avx_vnni"))


def race_dtypes(where: Setting, form: str, dtype: str, settings: list[str],
                of_f32: list[str], bar: Bar) -> dict:
    def side(dtype: str, settings: list[str]) -> Worker:
        command = [where.worker, "integer", form, "--dtype", dtype, "--steps",
                   FORMS[form][1], "--threads", where.threads]
        return Worker(["env", *settings, *command], where.threads)

    with side(dtype, settings) as ours, side("f32", of_f32) as plain:
        result = race(ours, plain, where.pairs)
    return {bar.name: {"ours": result.ours, "peer": result.peer,
                       "peer_name": "f32", "ratio": result.ratio,
                       "low": result.low, "high": result.high}}
