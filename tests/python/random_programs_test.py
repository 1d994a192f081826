"""Random programs do what NumPy does: expressions of every dtype with special
values, eager, staged and fused; gradients; branches, loops and recursions.

A failure names its seed. WEFT_TEST_ROUNDS multiplies how many seeds are tried,
WEFT_TEST_SEED is the first of them."""

import unittest

import numpy as np
from comparing import same, seeds

import weft

SHAPE = (4, 5)
KINDS = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}


class Program:
    """Draws the same expressions for NumPy and for weft."""

    def __init__(self, seed, steps, size=24):
        random = np.random.default_rng(seed)
        # Each: which step, and which of the values before it.
        self.lines = [
            (steps[random.integers(len(steps))], *random.integers(0, 2 + i, 2))
            for i in range(size)
        ]

    def __call__(self, lib, a, b):
        values = [a, b]
        for step, i, j in self.lines:
            values.append(step(lib, values[i], values[j]))
        return values[-4:]


# IEEE says what each of these gives, to the last bit; so it does for integers,
# which wrap around.
EXACT = [
    lambda lib, x, y: x + y,
    lambda lib, x, y: x - y,
    lambda lib, x, y: x * y,
    lambda lib, x, y: lib.maximum(x, y),
    lambda lib, x, y: lib.minimum(x, y),
    lambda lib, x, y: -x,
    lambda lib, x, y: lib.abs(x),
    lambda lib, x, y: lib.square(x),
    lambda lib, x, y: lib.where(x < y, x, y + y),
    lambda lib, x, y: lib.where(x == x, y, x),
    lambda lib, x, y: lib.where((x >= y) ^ (x != y), x, y),
    lambda lib, x, y: x.T.reshape(SHAPE) - y,
    lambda lib, x, y: lib.max(x, axis=0, keepdims=True) + y,
    lambda lib, x, y: lib.min(x, axis=1, keepdims=True) + y,
    lambda lib, x, y: lib.concatenate([x[1:], y[:1]], axis=0),
    lambda lib, x, y: x[-1] + y,
]

EXACT_OF_INTEGERS = EXACT + [
    lambda lib, x, y: x // y,
    lambda lib, x, y: x % y,
    lambda lib, x, y: x & y,
    lambda lib, x, y: x | y,
    lambda lib, x, y: x ^ y,
    lambda lib, x, y: ~x,
    lambda lib, x, y: x << (y & 7),
    lambda lib, x, y: x >> y,
]
EXACT_OF_FLOATS = EXACT + [
    lambda lib, x, y: lib.ceil(x),
    lambda lib, x, y: lib.floor(x),
    lambda lib, x, y: lib.rint(x),
    lambda lib, x, y: lib.where(lib.isfinite(x), x, y),
    lambda lib, x, y: lib.where(lib.isnan(x) | (y < x), y, x),
]

# Within rounding of NumPy, with results that stay small.
SMOOTH = [
    lambda lib, x, y: (x + y) * 0.5,
    lambda lib, x, y: x * y,
    lambda lib, x, y: lib.tanh(x - y),
    lambda lib, x, y: lib.maximum(x, y),
    lambda lib, x, y: lib.exp(lib.minimum(x, y)) * 0.3,
    lambda lib, x, y: lib.matmul(x, y.T) @ y * 0.05,
    lambda lib, x, y: x - x.mean(axis=1, keepdims=True),
    lambda lib, x, y: lib.sqrt(lib.abs(x) + 0.1),
    lambda lib, x, y: lib.log(lib.square(y) + 1.0),
    lambda lib, x, y: y / (lib.abs(x) + 1.0),
    lambda lib, x, y: x * lib.sum(y, axis=0, keepdims=True) * 0.25,
    lambda lib, x, y: lib.where(x < y, x, y),
    lambda lib, x, y: lib.concatenate([x[2:], y[:2]], axis=0),
    lambda lib, x, y: lib.transpose(lib.transpose(x)) + y * 0.25,
    lambda lib, x, y: lib.cumsum(x, axis=0) * 0.25 - y,
    lambda lib, x, y: lib.sin(x) + lib.cos(y * 2.0) * 0.5,
    lambda lib, x, y: lib.arctan2(x, lib.abs(y) + 0.5),
    lambda lib, x, y: lib.arcsin(lib.sin(y) * 0.7) + x * 0.25,
    lambda lib, x, y: lib.arccos(lib.tanh(x) * 0.8) - y * 0.25,
    lambda lib, x, y: lib.tan(lib.arctan(x) * 0.8),
    lambda lib, x, y: lib.log1p(lib.abs(x)) - y * 0.5,
    lambda lib, x, y: lib.expm1(lib.minimum(x, y)) * 0.5,
]


def numbers(seed, dtype):
    """Numbers from the whole range of a dtype, with its special values."""
    random = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        x = random.integers(info.min, info.max, SHAPE, dtype, endpoint=True)
        small = random.integers(0, 5, SHAPE).astype(dtype)
        return np.where(random.random(SHAPE) < 0.5, x, small)
    x = random.normal(size=SHAPE).astype(dtype)
    info = np.finfo(dtype)
    special = np.array(
        [
            np.nan,
            np.inf,
            -np.inf,
            0.0,
            -0.0,
            info.max,
            -info.max,
            info.tiny,
            info.smallest_subnormal,
        ],
        dtype,
    )
    drawn = special[random.integers(0, special.size, SHAPE)]
    return np.where(random.random(SHAPE) < 0.2, drawn, x)


class Expressions(unittest.TestCase):
    def test_exact_ones_have_the_bits_of_numpy(self):
        for seed in seeds(12):
            for name, dtype in KINDS.items():
                is_whole = np.issubdtype(dtype, np.integer)
                steps = EXACT_OF_INTEGERS if is_whole else EXACT_OF_FLOATS
                program = Program(seed, steps)
                a, b = numbers(2 * seed, dtype), numbers(2 * seed + 1, dtype)
                with np.errstate(all="ignore"):
                    expected = program(np, a, b)
                ways = {
                    "eager": program,
                    "staged": weft.jit(program, fuse=False),
                }
                # A fused multiply-add of f32 rounds once; other floats are
                # rounded after each op, and integers never.
                if name != "f32":
                    ways["fused"] = weft.jit(program)
                for way, run in ways.items():
                    actual = run(weft, weft.tensor(a), weft.tensor(b))
                    for i, (x, y) in enumerate(zip(actual, expected)):
                        self.assertTrue(
                            same(x, y),
                            f"seed {seed}, {name}, {way}, result "
                            f"{i}:\n{np.asarray(x)}\nnot\n{y}",
                        )

    def test_bf16_has_the_same_bits_fused(self):
        for seed in seeds(12):
            program = Program(seed, EXACT_OF_FLOATS)
            a, b = (
                weft.tensor(numbers(2 * seed + i, np.float32)).cast("bf16")
                for i in range(2)
            )
            expected = program(weft, a, b)
            for fuse in (False, True):
                actual = weft.jit(program, fuse=fuse)(weft, a, b)
                for i, (x, y) in enumerate(zip(actual, expected)):
                    self.assertTrue(
                        same(x.cast("f32"), y.cast("f32")),
                        f"seed {seed}, fuse={fuse}, result {i}",
                    )

    def test_smooth_ones_are_near_numpy(self):
        for seed in seeds(40):
            program = Program(seed, SMOOTH)
            random = np.random.default_rng(seed)
            for dtype, near in ((np.float32, 2e-4), (np.float64, 1e-11)):
                a, b = random.uniform(-1, 1, (2, *SHAPE)).astype(dtype)
                if seed % 2:
                    a[tuple(random.integers(SHAPE))] = np.nan
                with np.errstate(all="ignore"):
                    expected = program(np, a, b)
                for way, run in {
                    "eager": program,
                    "fused": weft.jit(program),
                    "staged": weft.jit(program, fuse=False),
                }.items():
                    actual = run(weft, weft.tensor(a), weft.tensor(b))
                    for i, (x, y) in enumerate(zip(actual, expected)):
                        self.assertTrue(
                            same(x, y, near),
                            f"seed {seed}, {dtype}, {way}, "
                            f"result {i}:\n{np.asarray(x)}\nnot\n{y}",
                        )

    def test_gradients_are_differences(self):
        for seed in seeds(8):
            program = Program(seed, SMOOTH, size=10)
            random = np.random.default_rng(seed)
            a, b = random.uniform(-1, 1, (2, *SHAPE))

            def loss(lib, x, y):
                return sum(lib.sum(part * part) for part in program(lib, x, y))

            gradient = weft.grad(lambda x, y: loss(weft, x, y), (0, 1))
            results = [
                run(weft.tensor(a), weft.tensor(b))
                for run in (gradient, weft.jit(gradient))
            ]
            for place in random.integers(0, a.size, 5):
                for which, origin in enumerate((a, b)):
                    ends = []
                    for step in (1e-6, -1e-6):
                        moved = [a.copy(), b.copy()]
                        moved[which].flat[place] += step
                        ends.append(loss(np, *moved))
                    slope = (ends[0] - ends[1]) / 2e-6
                    for way, result in zip(("eager", "staged"), results):
                        actual = np.asarray(result[which]).flat[place]
                        self.assertAlmostEqual(
                            actual,
                            slope,
                            delta=1e-4 * (1 + abs(slope)),
                            msg=f"seed {seed}, {way}, element {place}",
                        )


class Numbers:
    """NumPy with the control flow of weft, as plain Python."""

    def __getattr__(self, name):
        return getattr(np, name)

    def cond(self, predicate, then, otherwise, *operands):
        return (then if predicate else otherwise)(*operands)

    def while_loop(self, condition, body, carried):
        while condition(carried):
            carried = body(carried)
        return carried

    def scan(self, body, carried, scanned):
        outputs = []
        for row in scanned:
            carried, output = body(carried, row)
            outputs.append(output)
        return carried, np.stack(outputs)


class ControlFlow(unittest.TestCase):
    """Programs of branches and loops in each other, on a vector and a count."""

    def program(self, seed):
        random = np.random.default_rng(seed)

        def block(depth):
            lines = [line(depth) for _ in range(random.integers(1, 4))]

            def run(lib, x, n):
                for one in lines:
                    x, n = one(lib, x, n)
                return x, n

            return run

        def line(depth):
            kind = random.integers(3 if depth == 0 else 6)
            c = float(random.uniform(0.2, 0.9))
            k = int(random.integers(1, 4))
            if kind == 0:
                return lambda lib, x, n: (x * c + 0.25, n + k)
            if kind == 1:
                return lambda lib, x, n: (lib.abs(x - c), n - k)
            if kind == 2:
                return lambda lib, x, n: (lib.maximum(x, c) * 0.5, n * 3)
            inner, other = block(depth - 1), block(depth - 1)
            if kind == 3:
                return lambda lib, x, n: lib.cond(
                    lib.sum(x) > c,
                    lambda x, n: inner(lib, x, n),
                    lambda x, n: other(lib, x, n),
                    x,
                    n,
                )
            if kind == 4:

                def loop(lib, x, n):
                    def body(carried):
                        i, x, n = carried
                        return (i + 1, *inner(lib, x, n))

                    zero = n * 0
                    return lib.while_loop(
                        lambda carried: carried[0] < k, body, (zero, x, n)
                    )[1:]

                return loop

            def scan(lib, x, n):
                def body(carried, row):
                    y, m = inner(lib, carried[0] * row, carried[1])
                    return (y, m), y * c

                (y, m), rows = lib.scan(body, (x, n), lib.stack([x, x * c]))
                return y + rows.sum(axis=0) * 0.25, m

            return scan

        return block(3)

    def test_agrees_with_python(self):
        for seed in seeds(25):
            program = self.program(seed)
            random = np.random.default_rng(seed)
            x = random.uniform(-1, 1, 3)
            n = np.int64(random.integers(-3, 4))
            expected = program(Numbers(), x, n)
            for way, run in {
                "eager": program,
                "fused": weft.jit(program),
                "staged": weft.jit(program, fuse=False),
            }.items():
                actual = run(weft, weft.tensor(x), weft.tensor(n))
                self.assertTrue(
                    same(actual[0], expected[0], 1e-12), f"seed {seed}, {way}"
                )
                self.assertEqual(
                    actual[1].item(), int(expected[1]), f"seed {seed}, {way}"
                )

    def test_gradients_agree(self):
        for seed in seeds(6):
            program = self.program(seed)
            x = np.random.default_rng(seed).uniform(-1, 1, 3)
            n = np.int64(1)
            loss = lambda x, n: weft.sum(program(weft, x, n)[0])
            results = [
                np.asarray(run(weft.tensor(x), weft.tensor(n)))
                for run in (
                    weft.grad(loss),
                    weft.jit(weft.grad(loss)),
                    weft.grad(weft.jit(loss)),
                )
            ]
            for i in range(3):
                ends = []
                for step in (1e-6, -1e-6):
                    moved = x.copy()
                    moved[i] += step
                    ends.append(program(Numbers(), moved, n)[0].sum())
                slope = (ends[0] - ends[1]) / 2e-6
                for result in results:
                    self.assertAlmostEqual(
                        result[i],
                        slope,
                        delta=1e-5,
                        msg=f"seed {seed}, element {i}",
                    )

    def test_recursions_agree(self):
        vector = weft.TensorType("f64", [3])
        for seed in seeds(6):
            random = np.random.default_rng(seed)
            a, b, c = random.uniform(0.2, 0.8, 3)
            drop = float(random.integers(1, 3))

            def step(lib, f, n, x):
                left = f(n - 1.0, x * a + b)
                return lib.maximum(left - f(n - 1.0 - drop, x * c), x * 0.125)

            def plain(n, x):
                if n <= 0:
                    return x
                return step(np, plain, n, x)

            @weft.jit(results=[vector])
            def staged(n, x):
                return weft.cond(
                    n <= 0.0,
                    lambda n, x: x,
                    lambda n, x: step(weft, staged, n, x),
                    n,
                    x,
                )

            x = random.uniform(-1, 1, 3)
            for depth in range(6):
                actual = staged(
                    weft.tensor(np.float64(depth), "f64"), weft.tensor(x)
                )
                self.assertTrue(
                    same(actual, plain(depth, x), 1e-12),
                    f"seed {seed}, depth {depth}",
                )


if __name__ == "__main__":
    unittest.main()
