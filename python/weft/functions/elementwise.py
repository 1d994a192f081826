"""Functions of each element by itself."""

import builtins
import math

from weft import ops
from weft._weft import InvalidArgument, Tensor, Variable, tensor, while_loop
from weft.functions._arguments import WHOLE, alike, real
from weft.functions.creation import zeros_like

_SAME = """
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_or bitwise_xor
    ceil clamp cos cross_entropy_dense equal erf exp expm1 floor floor_divide gelu
    greater greater_equal less less_equal log log1p log_softmax logical_and
    logical_not logical_or logical_xor maximum mean_squared_error
    minimum multiply not_equal one_hot power relu remainder rsqrt sigmoid sign
    sin softmax sqrt square stop_gradient subtract tan tanh where
""".split()
for _name in _SAME:
    globals()[_name] = getattr(ops, _name)
absolute = ops.abs
negative = ops.negate
arccos, arcsin, arctan, arctan2 = ops.acos, ops.asin, ops.atan, ops.atan2
arccosh, arcsinh, arctanh = ops.acosh, ops.asinh, ops.atanh
isfinite, isnan = ops.is_finite, ops.is_nan
left_shift, right_shift = ops.shift_left, ops.shift_right
mod, pow, rint = ops.remainder, ops.power, ops.round

__all__ = [
    *_SAME,
    *"""
    absolute allclose arccos arccosh arcsin arcsinh arctan arctan2 arctanh array_equal
    bitwise_count bitwise_not cbrt clip cosh deg2rad degrees divide exp2 fix fmax fmin
    fmod gcd heaviside hypot invert isclose isfinite isinf isnan isneginf isposinf lcm left_shift log10 log2
    logaddexp mod nan_to_num negative pow rad2deg radians reciprocal right_shift rint
    round sinc sinh trunc
    """.split(),
]


def divide(a, b):
    """a / b; of integers, the quotient is f32."""
    if not isinstance(a, (Tensor, Variable)):
        a = tensor(a) if not isinstance(b, (Tensor, Variable)) else a
    return a / b


def reciprocal(x):
    """1 / x; of integers, it is f32."""
    return divide(1.0, x)


def isinf(x):
    """Whether it is infinity or its negative."""
    return ops.logical_not(ops.logical_or(ops.is_finite(x), ops.is_nan(x)))


def isposinf(x):
    """Whether it is infinity."""
    return ops.equal(real(x), math.inf)


def isneginf(x):
    """Whether it is the negative of infinity."""
    return ops.equal(real(x), -math.inf)


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether |a - b| <= atol + rtol * |b|; infinities are close to themselves."""
    a, b = alike(a, b)
    near = (a - b).abs() <= atol + rtol * b.abs()
    # A distance of infinities is NaN, or as large as what it may be.
    close = ops.equal(a, b) | (near & isfinite(a) & isfinite(b))
    return close | (isnan(a) & isnan(b)) if equal_nan else close


def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether isclose() is true of all elements."""
    return ops.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a, b):
    """Whether shapes and all elements are equal."""
    a, b = tensor(a), tensor(b)
    return ops.all(ops.equal(a, b)) if a.shape == b.shape else tensor(False)


def bitwise_not(x):
    """The bits that x has not; of a bool, its opposite."""
    x = tensor(x)
    return ~x


invert = bitwise_not


def bitwise_count(x):
    """How many bits of an integer's absolute value are 1, u8."""
    x = _whole(x, "bitwise_count").cast("i64").abs()
    # Pairs, fours and eights of bits are added up side by side, and then all eights.
    for width, mask in ((1, 0x55), (2, 0x33), (4, 0x0F)):
        every = tensor(int.from_bytes(bytes([mask]) * 8, "little"), dtype="i64")
        x = ops.bitwise_and(x, every) + ops.bitwise_and(x >> width, every)
    for width in (8, 16, 32):
        x = x + (x >> width)
    return ops.bitwise_and(x, 0x7F).cast("u8")


def _whole(x, name):
    x = tensor(x)
    if x.dtype not in WHOLE:
        raise InvalidArgument(f"{name}: {x.dtype} is no dtype of integers")
    return x


def gcd(a, b):
    """The largest integer that divides both; 0 of two zeros."""
    a, b = alike(a, b, lambda x: _whole(x, "gcd").abs())
    shape = (a + b).shape
    a, b = ops.broadcast_to(a, shape=shape), ops.broadcast_to(b, shape=shape)

    def step(pair):
        a, b = pair
        is_over = ops.equal(b, 0)
        rest = ops.remainder(a, ops.where(is_over, b + 1, b))
        return ops.where(is_over, a, b), ops.where(is_over, b, rest)

    return while_loop(lambda pair: ops.any(ops.not_equal(pair[1], 0)), step, (a, b))[0]


def lcm(a, b):
    """The smallest integer that both divide; 0 if one is."""
    a, b = alike(a, b, lambda x: _whole(x, "lcm").abs())
    divisor = gcd(a, b)
    return ops.floor_divide(a, ops.maximum(divisor, 1)) * b


def cbrt(x):
    """The cube root, which of a negative number is negative."""
    x = real(x)
    is_some = ops.is_finite(x) & ops.not_equal(x, 0)
    some = ops.where(is_some, x, ops.cast(1.0, dtype=x.dtype))
    root = ops.sign(some) * ops.power(some.abs(), 1 / 3)
    # A step of Newton's method mends the last digits: 1 / 3 is rounded.
    root = root - (root - some / root / root) / 3
    return ops.where(is_some, root, x)


def _round_whole(x, unit):
    # It is done by integers, as fractions have no room for all digits.
    if unit >= 2**62:
        return zeros_like(x)
    wide = x.cast("i64")
    units = wide // unit
    rest = wide - units * unit
    is_up = (rest * 2 > unit) | ((rest * 2 == unit) & (units % 2 == 1))
    return ((units + is_up) * unit).cast(x.dtype)


def round(x, decimals=0):
    """The nearest number of so many decimals; halves go to the even one."""
    x = tensor(x)
    if x.dtype in WHOLE:
        return _round_whole(x, 10**-decimals) if decimals < 0 else x
    if decimals == 0:
        return ops.round(x)
    scale = 10.0 ** builtins.abs(decimals)
    if decimals < 0:
        return ops.round(x / scale) * scale
    return ops.round(x * scale) / scale


def trunc(x):
    """The whole part: the nearest integer towards 0."""
    x = tensor(x)
    return x if x.dtype in WHOLE else ops.where(x < 0, ops.ceil(x), ops.floor(x))


fix = trunc


def clip(x, a_min, a_max):
    """min(max(x, a_min), a_max); a bound is None, a number or an array."""
    if a_min is None and a_max is None:
        raise InvalidArgument("clip: there is no bound")
    if a_min is not None:
        x = ops.maximum(x, a_min)
    return x if a_max is None else ops.minimum(x, a_max)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    """Numbers in place of NaN and infinities, which by default become the largest
    number of the dtype and its negative.
    """
    x = tensor(x)
    if x.dtype in WHOLE:
        return x
    most = _LARGEST[x.dtype]
    posinf = most if posinf is None else posinf
    neginf = -most if neginf is None else neginf
    number = ops.where(isnan(x), tensor(nan, dtype=x.dtype), x)
    number = ops.where(isposinf(x), tensor(posinf, dtype=x.dtype), number)
    return ops.where(isneginf(x), tensor(neginf, dtype=x.dtype), number)


_LARGEST = {
    "f16": 65504.0,
    "bf16": (2.0 - 2.0**-7) * 2.0**127,
    "f32": (2.0 - 2.0**-23) * 2.0**127,
    "f64": (2.0 - 2.0**-52) * 2.0**1023,
}


def fmax(a, b):
    """The larger one; the other one if one is NaN."""
    return ops.where(isnan(a), b, ops.where(isnan(b), a, ops.maximum(a, b)))


def fmin(a, b):
    """The smaller one; the other one if one is NaN."""
    return ops.where(isnan(a), b, ops.where(isnan(b), a, ops.minimum(a, b)))


def fmod(a, b):
    """What is left of a / b, with the sign of a."""
    a, b = alike(a, b, tensor)
    rest = ops.remainder(ops.abs(a), ops.abs(b))
    return ops.where(a < 0, -rest, rest)


def heaviside(x, at_zero):
    """0 below 0, 1 above it, and `at_zero` at 0."""
    x = real(x)
    step = ops.where(isnan(x), x, ops.cast(x > 0, dtype=x.dtype))
    return ops.where(x == 0, at_zero, step)


def exp2(x):
    """2 to the power of x."""
    return ops.power(2.0, real(x))


def log2(x):
    """The logarithm to base 2."""
    return ops.log(real(x)) / math.log(2.0)


def log10(x):
    """The logarithm to base 10."""
    return ops.log(real(x)) / math.log(10.0)


def logaddexp(a, b):
    """log(exp(a) + exp(b)), without overflow."""
    a, b = alike(a, b)
    # A distance of equal infinities would be NaN.
    distance = ops.where(ops.equal(a, b), zeros_like(a - b), a - b)
    return ops.maximum(a, b) + ops.log1p(ops.exp(-distance.abs()))


def sinh(x):
    """The hyperbolic sine."""
    x = real(x)
    # A difference of exponentials loses digits near 0, and expm1 overflows far from
    # it; each is kept from where the other is taken, as gradients pass both.
    is_small = x.abs() < 1
    near = ops.where(is_small, x, zeros_like(x))
    near = (ops.expm1(near) - ops.expm1(-near)) * 0.5
    root = ops.exp(x.abs() * 0.5)  # its square overflows for larger x than exp does
    far = (root * 0.5) * root - 0.5 / root / root
    return ops.where(is_small, near, ops.where(x < 0, -far, far))


def cosh(x):
    """The hyperbolic cosine."""
    root = ops.exp(real(x).abs() * 0.5)
    return (root * 0.5) * root + 0.5 / root / root


def sinc(x):
    """sin(pi x) / (pi x), which is 1 at 0."""
    angle = real(x) * math.pi
    is_zero = ops.equal(angle, 0)
    some = ops.where(is_zero, tensor(1.0, dtype=angle.dtype), angle)
    return ops.where(is_zero, tensor(1.0, dtype=angle.dtype), ops.sin(some) / some)


def hypot(a, b):
    """sqrt(a * a + b * b), without overflow."""
    a, b = (each.abs() for each in alike(a, b))
    most, least = ops.maximum(a, b), ops.minimum(a, b)
    is_whole = ops.equal(most, 0) | isposinf(most)
    some = ops.where(is_whole, tensor(1.0, dtype=most.dtype), most)
    slope = ops.where(is_whole, zeros_like(most), least / some)
    length = most * ops.sqrt(1.0 + slope * slope)
    # One that is infinite is longer than any, whatever NaN stands for.
    return ops.where(
        isposinf(a) | isposinf(b), tensor(math.inf, dtype=most.dtype), length
    )


def deg2rad(x):
    """Radians of degrees."""
    return real(x) * (math.pi / 180)


def rad2deg(x):
    """Degrees of radians."""
    return real(x) * (180 / math.pi)


radians, degrees = deg2rad, rad2deg
