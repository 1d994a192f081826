"""Random numbers by keys, under JAX's names.

A key is two integers, a seed and a step: the same key draws the same numbers, at once
and staged, resumed, and on any number of threads. Many keys, [..., 2], draw `shape`
each. What split() makes of a key has nothing to do with what the key itself draws.

    key = weft.random.key(0)
    first, second = weft.random.split(key)
    x = weft.random.gamma(first, 2.5, shape=(3, 4))
"""

import math
import operator

from weft import functions, linalg, ops
from weft._weft import InvalidArgument, tensor, while_loop
from weft.functions._arguments import axis_of, known_size, real
from weft.transforms import custom_gradient

__all__ = """
    bernoulli beta binomial categorical cauchy chisquare choice dirichlet exponential
    gamma geometric gumbel key laplace logistic multivariate_normal normal permutation
    poisson rademacher randint split t uniform
""".split()


def key(seed, step=0):
    """The key of a seed, and of a step that counts what follows from it."""
    return tensor([operator.index(seed), operator.index(step)], dtype="i64")


def split(key, count=2):
    """Keys of their own that follow from each key, i64[..., count, 2]."""
    return functions.split_key(key, count)


def _apart(key, count):
    keys = split(key, count)
    return [keys[..., n, :] for n in range(count)]


def _drawn_shape(shape, *parameters):
    # That of a draw, which is what its parameters broadcast to if none is said.
    if shape is None:
        return functions.broadcast_arrays(*parameters)[0].shape
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _spread(key, shape, *parameters):
    # Parameters in the shape of what all keys draw.
    whole = (*tensor(key).shape[:-1], *shape)
    return [functions.broadcast_to(each, whole) for each in parameters]


def uniform(key, shape=(), low=0.0, high=1.0, dtype="f32"):
    """Uniform in [low, high)."""
    return functions.uniform(key, shape, dtype=dtype) * (high - low) + low


def normal(key, shape=(), dtype="f32"):
    """Standard normal."""
    return functions.normal(key, shape, dtype=dtype)


def randint(key, shape, low, high, dtype="i64"):
    """Integers in [low, high), all as probable."""
    return functions.randint(key, shape, low, high, dtype=dtype)


def categorical(key, logits):
    """A class per row of the last axis, drawn with the probability softmax(logits)."""
    return functions.categorical(key, logits)


def bernoulli(key, p=0.5, shape=None):
    """True with probability p."""
    if isinstance(p, (int, float)) and not 0 <= p <= 1:
        raise InvalidArgument(f"bernoulli: a probability is from 0 to 1, not {p}")
    p = real(p)
    shape = _drawn_shape(shape, p)
    return functions.uniform(key, shape, dtype=p.dtype) < p


def rademacher(key, shape=(), dtype="f32"):
    """1 or -1, as probable."""
    return ops.cast(bernoulli(key, 0.5, shape), dtype=dtype) * 2 - 1


def exponential(key, shape=(), dtype="f32"):
    """Exponential with the mean 1."""
    return -ops.log1p(-functions.uniform(key, shape, dtype=dtype))


def gumbel(key, shape=(), dtype="f32"):
    """Standard Gumbel."""
    return ops.gumbel(key, shape=shape, stream=0, dtype=dtype)


def laplace(key, shape=(), dtype="f32"):
    """Laplace with the mean 0 and the scale 1."""
    size, sign = _apart(key, 2)
    return exponential(size, shape, dtype) * rademacher(sign, shape, dtype)


def logistic(key, shape=(), dtype="f32"):
    """Standard logistic: the distance of two exponentials' logarithms."""
    one, other = _apart(key, 2)
    return gumbel(one, shape, dtype) - gumbel(other, shape, dtype)


def cauchy(key, shape=(), dtype="f32"):
    """Standard Cauchy."""
    angle = functions.uniform(key, shape, dtype=dtype) - 0.5
    return functions.tan(angle * math.pi)


def permutation(key, x, axis=0):
    """0 ... x - 1 in random order, or the slices of x along an axis."""
    if hasattr(x, "__index__") and not hasattr(x, "shape"):
        return ops.permutation(key, shape=operator.index(x), stream=0)
    x = tensor(x)
    size = known_size(x, axis_of(x, axis, "permutation"), "permutation")
    return functions.take(x, ops.permutation(key, shape=size, stream=0), axis)


def choice(key, x, shape=(), replace=True, p=None):
    """Elements of a vector, or integers below a number, with probabilities p or all as
    probable; each at most once if it does not replace them.
    """
    is_count = hasattr(x, "__index__") and not hasattr(x, "shape")
    size = operator.index(x) if is_count else known_size(tensor(x), 0, "choice")
    shape = _drawn_shape(shape)
    count = math.prod(shape)
    if size == 0 or (not replace and count > size):
        raise InvalidArgument(f"choice: {size} elements are fewer than {count} draws")
    if replace and p is None:
        places = randint(key, shape, 0, size)
    elif replace:
        logits = functions.broadcast_to(ops.log(real(p)), (*shape, size))
        places = categorical(key, logits)
    elif p is None:
        places = ops.permutation(key, shape=size, stream=0)[..., :count]
    else:
        # The largest of logits + gumbel are a draw without replacement.
        scores = ops.log(real(p)) + gumbel(key, (size,), real(p).dtype)
        places = ops.top_k(scores, k=count)[1]
    places = places.reshape((*tensor(key).shape[:-1], *shape))
    return places if is_count else functions.take(x, places, 0)


def multivariate_normal(key, mean, covariance, shape=None):
    """Normal vectors with a mean [..., n] and a covariance [..., n, n]."""
    mean, covariance = real(mean), real(covariance)
    shape = mean.shape[:-1] if shape is None else _drawn_shape(shape)
    z = normal(key, (*shape, mean.shape[-1]), mean.dtype)
    return mean + functions.matmul(linalg.cholesky(covariance), z[..., None])[..., 0]


def _rejecting(key, draw, value, is_done):
    # Draws again where a draw was not accepted, with keys of its own.
    def step(state):
        key, value, is_done = state
        own, key = _apart(key, 2)
        drawn, is_accepted = draw(own)
        value = ops.where(is_accepted & ~is_done, drawn, value)
        return key, value, is_done | is_accepted

    def goes_on(state):
        return ~ops.all(state[2])

    return while_loop(goes_on, step, (tensor(key), value, is_done))[1]


def gamma(key, a, shape=None):
    """Gamma with the shape parameter a and the scale 1; NaN unless a is above 0, and so
    is its derivative by a, which rejection has not: stop_gradient() says that none is
    wanted. By Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables"
    (2000).
    """
    a = real(a)
    shape = _drawn_shape(shape, a)
    (a,) = _spread(key, shape, a)

    def forward(a):
        drawing, lifting = _apart(key, 2)
        is_small = a < 1
        d = ops.where(is_small, a + 1.0, a) - 1 / 3
        c = ops.rsqrt(d * 9.0)

        def draw(key):
            first, second = _apart(key, 2)
            z = normal(first, shape, a.dtype)
            v = 1.0 + c * z
            v = v * v * v
            is_inside = v > 0
            some = ops.where(is_inside, v, functions.ones_like(v))
            bound = z * z * 0.5 + d * (1.0 - some + ops.log(some))
            u = functions.uniform(second, shape, dtype=a.dtype)
            return d * v, is_inside & (ops.log(u) < bound)

        is_valid = a > 0
        drawn = _rejecting(drawing, draw, functions.zeros_like(a), ~is_valid)
        lift = ops.power(functions.uniform(lifting, shape, dtype=a.dtype), 1.0 / a)
        drawn = ops.where(is_small, drawn * lift, drawn)
        return ops.where(is_valid, drawn, tensor(math.nan, dtype=a.dtype)), ()

    return custom_gradient(forward, lambda _, seeds: seeds * math.nan)(a)


def chisquare(key, df, shape=None):
    """Chi-square with so many degrees of freedom."""
    return gamma(key, real(df) * 0.5, shape) * 2.0


def t(key, df, shape=None):
    """Student's t with so many degrees of freedom."""
    df = real(df)
    shape = _drawn_shape(shape, df)
    top, below = _apart(key, 2)
    return normal(top, shape, df.dtype) / ops.sqrt(chisquare(below, df, shape) / df)


def beta(key, a, b, shape=None):
    """Beta with two parameters."""
    a, b = functions.broadcast_arrays(real(a), real(b))
    one, other = _apart(key, 2)
    x, y = gamma(one, a, shape), gamma(other, b, shape)
    return x / (x + y)


def dirichlet(key, alpha, shape=None):
    """Probabilities [..., n] with the parameters alpha [..., n]."""
    alpha = real(alpha)
    if shape is not None:
        shape = (*_drawn_shape(shape), alpha.shape[-1])
    x = gamma(key, alpha, shape)
    return x / functions.sum(x, -1, keepdims=True)


def geometric(key, p, shape=None):
    """How many trials of probability p it takes to the first that succeeds, i64; -1
    where p is no probability above 0.
    """
    p = tensor(p).cast("f64")
    shape = _drawn_shape(shape, p)
    (p,) = _spread(key, shape, p)
    is_valid = (p > 0) & (p <= 1)
    slope = ops.log1p(-ops.where(is_valid, p, functions.ones_like(p)))
    u = functions.uniform(key, shape, dtype="f64")
    count = ops.floor(ops.log1p(-u) / slope) + 1.0
    return ops.where(is_valid, count, functions.full_like(p, -1.0)).cast("i64")


def poisson(key, rate, shape=None):
    """Poisson with a mean, i64; -1 where that is no number from 0 on. Beyond 10 by
    Hörmann, "The transformed rejection method for generating Poisson random
    variables" (1993).
    """
    rate = tensor(rate).cast("f64")
    shape = _drawn_shape(shape, rate)
    (rate,) = _spread(key, shape, rate)
    is_valid = ops.is_finite(rate) & (rate >= 0)
    is_few = rate < 10
    one, other = _apart(key, 2)
    few = ops.where(is_valid & is_few, rate, functions.zeros_like(rate))
    many = ops.where(is_valid & ~is_few, rate, tensor(10.0, dtype="f64"))
    drawn = ops.where(
        is_few, _waiting(one, shape, few), _poisson(other, shape, many, is_few)
    )
    return ops.where(is_valid, drawn.cast("i64"), tensor(-1, dtype="i64"))


def _waiting(key, shape, rate):
    # How many exponential waits fit into so much time.
    def step(state):
        key, time, count = state
        own, key = _apart(key, 2)
        time = time - exponential(own, shape, "f64")
        return key, time, count + ops.cast(time >= 0, dtype="f64")

    state = (tensor(key), rate, functions.zeros_like(rate))
    return while_loop(lambda state: ops.any(state[1] >= 0), step, state)[2]


def _poisson(key, shape, rate, is_done):
    b = 0.931 + 2.53 * ops.sqrt(rate)
    a = 0.02483 * b - 0.059
    inverse = 1.1239 + 1.1328 / (b - 3.4)

    def draw(key):
        k, us, v = _transformed(key, shape, a, b, rate + 0.43)
        likelihood = k * ops.log(rate) - rate - functions.lgamma(k + 1.0)
        is_inside = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2.0))
        return k, (k >= 0) & (
            is_inside | (ops.log(v * inverse / (a / (us * us) + b)) <= likelihood)
        )

    return _rejecting(key, draw, functions.zeros_like(rate), is_done)


def _transformed(key, shape, a, b, center):
    # Hörmann's candidate, how far u is from its ends, and v.
    first, second = _apart(key, 2)
    u = functions.uniform(first, shape, dtype="f64") - 0.5
    us = 0.5 - ops.abs(u)
    us = ops.where(us > 0, us, tensor(2.0**-54, dtype="f64"))
    k = ops.floor((2.0 * a / us + b) * u + center)
    return k, us, 1.0 - functions.uniform(second, shape, dtype="f64")


def binomial(key, n, p, shape=None):
    """How many of n trials of probability p succeed, i64; -1 where n is below 0 or p is
    no probability. Of more than 10 by Hörmann, "The generation of binomial random
    variates" (1993).
    """
    n, p = tensor(n).cast("f64"), tensor(p).cast("f64")
    shape = _drawn_shape(shape, n, p)
    n, p = _spread(key, shape, n, p)
    is_valid = (n >= 0) & (p >= 0) & (p <= 1)
    zero, half = functions.zeros_like(p), functions.full_like(p, 0.5)
    # The rarer of both outcomes is counted.
    is_rare = p <= 0.5
    q = ops.where(is_valid, ops.where(is_rare, p, 1.0 - p), zero)
    is_few = n * q < 10
    one, other = _apart(key, 2)
    few = _successes(one, shape, ops.where(is_few & is_valid, n, zero), q)
    many = _binomial(
        other,
        shape,
        ops.where(is_few, functions.full_like(n, 20.0), n),
        ops.where(is_few, half, q),
        is_few,
    )
    drawn = ops.where(is_few, few, many)
    drawn = ops.where(is_rare, drawn, n - drawn)
    return ops.where(is_valid, drawn, functions.full_like(n, -1.0)).cast("i64")


def _successes(key, shape, n, p):
    # Trials between one success and the next are geometric.
    is_never = ops.equal(p, 0)
    slope = ops.log1p(-ops.where(is_never, functions.full_like(p, 0.5), p))

    def step(state):
        key, left, count = state
        own, key = _apart(key, 2)
        u = functions.uniform(own, shape, dtype="f64")
        left = left - (ops.floor(ops.log1p(-u) / slope) + 1.0)
        return key, left, count + ops.cast(left >= 0, dtype="f64")

    left = ops.where(is_never, functions.full_like(n, -1.0), n)
    state = (tensor(key), left, functions.zeros_like(n))
    return while_loop(lambda state: ops.any(state[1] > 0), step, state)[2]


def _binomial(key, shape, n, p, is_done):
    deviation = ops.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = 0.0248 * b + 0.01 * p - 0.0873
    alpha = (2.83 + 5.1 / b) * deviation
    mode = ops.floor((n + 1.0) * p)
    odds = ops.log(p / (1.0 - p))

    def chance(k):
        return -functions.lgamma(k + 1.0) - functions.lgamma(n - k + 1.0)

    def draw(key):
        k, us, v = _transformed(key, shape, a, b, n * p + 0.5)
        is_within = (k >= 0) & (k <= n)
        some = ops.where(is_within, k, mode)
        likelihood = chance(some) - chance(mode) + (some - mode) * odds
        is_inside = (us >= 0.07) & (v <= 0.92 - 4.2 / b)
        return k, is_within & (
            is_inside | (ops.log(v * alpha / (a / (us * us) + b)) <= likelihood)
        )

    return _rejecting(key, draw, functions.zeros_like(n), is_done)
