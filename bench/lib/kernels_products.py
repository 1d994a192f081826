"""Matrix products beside what the machine can do: its multiply-adds, or for few
rows its memory; and products of f64 beside those of f32."""

from dataclasses import dataclass
from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.measure import race
from lib.worker import OneShot, Worker

BLOCK_FLOPS = 20e9  # about what a timed block computes


@dataclass(frozen=True)
class Product:
    rows: int
    inner: int
    columns: int
    dtype: str = "f32"
    transposed: bool = False  # the right operand, in memory

    @property
    def name(self) -> str:
        layout = ", transposed" if self.transposed else ""
        sizes = f"{self.rows} x {self.inner} x {self.columns}"
        return f"product {sizes}{layout}, {self.dtype}"


# They are limited by arithmetic.
LARGE = (Product(2048, 2048, 2048), Product(1024, 1024, 1024, transposed=True),
         Product(128, 3136, 128), Product(16, 1024, 1024),
         Product(16, 1024, 1024, transposed=True), Product(65536, 64, 64))
# Limited by memory: the right operand is read once, and is larger than caches.
FEW_ROWS = (Product(1, 8192, 8192), Product(1, 8192, 8192, transposed=True),
            Product(4, 8192, 8192))
F64 = (Product(1024, 1024, 1024, "f64"), Product(16, 1024, 1024, "f64"))


def benches(where: Setting) -> list[Bench]:
    found = [bench(where, product, "FMA peak", against_arithmetic)
             for product in LARGE]
    found += [bench(where, product, "bandwidth", against_memory)
              for product in FEW_ROWS]
    return found + [bench(where, product, "f32", against_f32, least=0.4)
                    for product in F64]


def bench(where: Setting, product: Product, peer: str, measure,
          least: float = 0.85) -> Bench:
    unit = "B/s" if measure is against_memory else "GF/s"
    bar = Bar(f"{product.name}: of {peer}", unit, least)
    return Bench((bar,), partial(measure, where, product, bar))


def worker(where: Setting, product: Product) -> Worker:
    flops = 2 * product.rows * product.inner * product.columns
    return Worker([where.worker, "matmul", "--rows", product.rows, "--inner",
                   product.inner, "--columns", product.columns, "--dtype",
                   product.dtype, "--transposed",
                   str(product.transposed).lower(), "--threads", where.threads,
                   "--steps", max(1, round(BLOCK_FLOPS / flops / 10))],
                  where.threads)


def against_arithmetic(where: Setting, product: Product, bar: Bar) -> dict:
    return against_roof(where, product, bar, "weft-fma-peak", 1e-9)


def against_memory(where: Setting, product: Product, bar: Bar) -> dict:
    # Two operations for each element of the right operand and each row; f32.
    return against_roof(where, product, bar, "weft-bandwidth",
                        4 / (2 * product.rows), roof_scale=1)


def against_roof(where: Setting, product: Product, bar: Bar, program: str,
                 scale: float, roof_scale: float | None = None) -> dict:
    peak = OneShot([where.build / "bin" / program, where.threads])
    with worker(where, product) as ours:
        result = race(ours, peak, where.pairs)
    # A roof is a maximum: a peak that a busy machine lowered is none.
    roof = max(result.peer_rates) * (scale if roof_scale is None else roof_scale)
    ours_rates = [scale * rate for rate in result.our_rates]
    return {bar.name: {"ours": scale * result.ours, "peer": roof,
                       "peer_name": program.removeprefix("weft-"),
                       "ratio": scale * result.ours / roof,
                       "low": min(ours_rates) / roof,
                       "high": max(ours_rates) / roof}}


def against_f32(where: Setting, product: Product, bar: Bar) -> dict:
    other = Product(product.rows, product.inner, product.columns)
    with worker(where, product) as ours, worker(where, other) as peer:
        result = race(ours, peer, where.pairs)
    return {bar.name: {"ours": result.ours / 1e9, "peer": result.peer / 1e9,
                       "peer_name": "f32", "ratio": result.ratio,
                       "low": result.low, "high": result.high}}
