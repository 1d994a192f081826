"""JAX's side of the L2HMC races: what examples/l2hmc computes, under jax.jit:
called once a move, or once for all moves of a block by lax.scan. Protocol:
bench/README.md.

A move draws its own random numbers, as ours does; the checked moves are given
ours, so that answers can be compared.
"""

import argparse
import math
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from lib import safetensors  # noqa: E402
from lib.serve import serve, timed  # noqa: E402

STEPS, EPSILON = 10, 0.1  # leapfrog steps and their size
CHECKED_MOVES = 5


def row_sum(x):
    return jnp.sum(x, axis=1, keepdims=True)


def energy(x):
    near = row_sum(jnp.square(x - 2)) * 0.5
    far = row_sum(jnp.square(x + 2)) * 0.5
    least = jnp.minimum(near, far)
    return least - jnp.log(jnp.exp(least - near) + jnp.exp(least - far))


slope_of = jax.grad(lambda x: energy(x).sum())


def total_energy(x, v):
    return energy(x) + row_sum(jnp.square(v)) * 0.5


def bend(weights, network, first, second, time):
    def linear(name, x):
        path = f"{network}.{name}"
        return x @ weights[f"{path}.weight"] + weights[f"{path}.bias"]

    h = (linear("from_first", first) + linear("from_second", second)
         + linear("from_time", time))
    h = jax.nn.relu(linear("inner", jax.nn.relu(h)))
    return (jnp.tanh(linear("scale", h)), linear("translation", h),
            jnp.tanh(linear("transformation", h)))


def push(weights, x, v, log_jacobian, t):
    slope = slope_of(x)
    scale, translation, transformation = bend(weights, "momentum", x, slope, t)
    bent = slope * jnp.exp(transformation * EPSILON) + translation
    v = v * jnp.exp(scale * (EPSILON / 2)) - bent * (EPSILON / 2)
    return v, log_jacobian + row_sum(scale) * (EPSILON / 2)


def drift(weights, x, v, log_jacobian, t, moving, resting):
    scale, translation, transformation = bend(weights, "position",
                                              x * resting, v, t)
    moved = (x * jnp.exp(scale * EPSILON)
             + (v * jnp.exp(transformation * EPSILON) + translation) * EPSILON)
    return (x * resting + moved * moving,
            log_jacobian + row_sum(scale * moving) * EPSILON)


def move_with(weights, start, noise, dice):
    x, v, log_jacobian = start, noise, jnp.zeros((start.shape[0], 1))
    before = total_energy(x, v)
    for step in range(STEPS):
        turn = 2 * math.pi * step / STEPS
        t = jnp.broadcast_to(jnp.array([math.cos(turn), math.sin(turn)],
                                       dtype=jnp.float32), x.shape)
        first = jnp.array([[step % 2 == 0, step % 2 != 0]], dtype=jnp.float32)
        v, log_jacobian = push(weights, x, v, log_jacobian, t)
        x, log_jacobian = drift(weights, x, v, log_jacobian, t, first,
                                1 - first)
        x, log_jacobian = drift(weights, x, v, log_jacobian, t, 1 - first,
                                first)
        v, log_jacobian = push(weights, x, v, log_jacobian, t)
    change = before - total_energy(x, v) + log_jacobian
    probability = jnp.exp(jnp.minimum(change, 0))
    return jnp.where(dice < probability, x, start), probability


def draw_and_move(weights, x, index):
    for_noise, for_dice = jax.random.split(
        jax.random.fold_in(jax.random.key(1), index))
    return move_with(weights, x, jax.random.normal(for_noise, x.shape),
                     jax.random.uniform(for_dice, (x.shape[0], 1)))


move = jax.jit(draw_and_move)


@partial(jax.jit, static_argnums=2)
def all_moves(weights, x, count):
    return jax.lax.scan(
        lambda x, index: (draw_and_move(weights, x, index)[0], None), x,
        jnp.arange(count))[0]


class Chains:
    def __init__(self, options: argparse.Namespace):
        self.inputs = safetensors.read(options.weights)
        self.weights = {name: jnp.asarray(value)
                        for name, value in self.inputs.items()
                        if name.startswith(("momentum", "position"))}
        self.chains, self.moves = options.chains, options.moves
        self.walk = {"jit": self.one_by_one, "scan": self.at_once}[
            options.form]

    def start(self):
        return jnp.zeros((self.chains, 2))

    def check(self) -> dict:
        x, values = self.start(), []
        for i in range(CHECKED_MOVES):
            x, probability = jax.jit(move_with)(
                self.weights, x, self.inputs[f"noise.{i}"],
                self.inputs[f"dice.{i}"])
            values += [float(jnp.abs(x).sum()), float(probability.sum())]
        return {"values": values}

    def one_by_one(self, x):
        for i in range(self.moves):
            x, _ = move(self.weights, x, np.int32(i))
        return x

    def at_once(self, x):
        return all_moves(self.weights, x, self.moves)

    def block(self) -> int:
        self.walk(self.start()).block_until_ready()
        return self.moves * self.chains


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", choices=("jit", "scan"))
    parser.add_argument("--chains", type=int, required=True)
    parser.add_argument("--moves", type=int, default=1, help="in one block")
    parser.add_argument("--weights", type=Path, required=True)
    chains = Chains(parser.parse_args())
    serve({"check": chains.check, "run": lambda: timed(chains.block)})


if __name__ == "__main__":
    main()
