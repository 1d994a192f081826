"""L2HMC in Python: Hamiltonian Monte Carlo whose leapfrog steps are bent by
small networks (Levy, Hoffman, Sohl-Dickstein, 2018). It draws from a mixture of
two Gaussians in the plane. The same arithmetic as sampler.h, in C++.

    python3 l2hmc.py [CHAINS [MOVES]]

runs it eagerly and staged. The sampler does not know which: one decorator, in
main(), makes the difference.
"""

import math
import sys
import time
from typing import NamedTuple

import weft
from weft import nn


class State(NamedTuple):
    position: weft.Tensor  # [chains, 2]
    momentum: weft.Tensor  # [chains, 2]
    log_jacobian: weft.Tensor  # [chains, 1]


def energy(x):
    """-log of the density of each row of x."""
    near = weft.sum((x - 2.0).square(), axis=1, keepdims=True) * 0.5
    far = weft.sum((x + 2.0).square(), axis=1, keepdims=True) * 0.5
    least = weft.minimum(near, far)
    return least - weft.log(weft.exp(least - near) + weft.exp(least - far))


slope_of = weft.grad(lambda x: energy(x).sum())


def total_energy(state):
    """The Hamiltonian, with a standard normal momentum."""
    kinetic = weft.sum(state.momentum.square(), axis=1, keepdims=True) * 0.5
    return energy(state.position) + kinetic


class BendingNetwork(nn.Module):
    """What bends one update: scale, translation and transformation."""

    def __init__(self, hidden):
        super().__init__()
        self.from_first = nn.Linear(2, hidden)
        self.from_second = nn.Linear(2, hidden)
        self.from_time = nn.Linear(2, hidden)
        self.inner = nn.Linear(hidden, hidden)
        self.scale = nn.Linear(hidden, 2)
        self.translation = nn.Linear(hidden, 2)
        self.transformation = nn.Linear(hidden, 2)

    def __call__(self, first, second, time):
        h = (
            self.from_first(first)
            + self.from_second(second)
            + self.from_time(time)
        )
        h = weft.relu(self.inner(weft.relu(h)))
        return (
            weft.tanh(self.scale(h)),
            self.translation(h),
            weft.tanh(self.transformation(h)),
        )


class L2hmc(nn.Module):
    def __init__(self, leapfrog_steps=10, step_size=0.1, hidden=10):
        super().__init__()
        self.momentum = BendingNetwork(hidden)
        self.position = BendingNetwork(hidden)
        self.leapfrog_steps = leapfrog_steps
        self.step_size = step_size

    def move(self, x, key, is_forward):
        """One move of every chain, forward or backward in time: the next
        positions, and the probabilities with which moves were accepted."""
        chains = x.shape[0]
        state = State(x, weft.normal(key, x.shape, 0), weft.zeros((chains, 1)))
        before = total_energy(state)
        steps = range(self.leapfrog_steps)
        for step in steps if is_forward else reversed(steps):
            state = (
                self.forward(state, step)
                if is_forward
                else self.backward(state, step)
            )
        change = before - total_energy(state) + state.log_jacobian
        probability = weft.exp(weft.minimum(change, 0.0))
        dice = weft.uniform(key, (chains, 1), 1)
        return weft.where(dice < probability, state.position, x), probability

    def time(self, x, step):
        """(cos, sin) of the step's share of a turn, for every chain."""
        turn = 2 * math.pi * step / self.leapfrog_steps
        column = (x.shape[0], 1)
        return weft.concatenate(
            [
                weft.full(column, math.cos(turn)),
                weft.full(column, math.sin(turn)),
            ],
            1,
        )

    def masks(self, step):
        """Which coordinate moves first, by turns; and the other one."""
        first = weft.tensor([[float(step % 2 == 0), float(step % 2 != 0)]])
        return first, 1.0 - first

    # Equations (4) and (5).
    def forward(self, state, step):
        t = self.time(state.position, step)
        first, second = self.masks(step)
        state = self.push(state, t)
        state = self.drift(state, t, first, second)
        state = self.drift(state, t, second, first)
        return self.push(state, t)

    def backward(self, state, step):
        """The inverse of forward()."""
        t = self.time(state.position, step)
        first, second = self.masks(step)
        state = self.pull(state, t)
        state = self.drift_back(state, t, second, first)
        state = self.drift_back(state, t, first, second)
        return self.pull(state, t)

    def push(self, state, t):
        """Half a step of the momentum."""
        x, v, log_jacobian = state
        e = self.step_size
        slope = slope_of(x)
        scale, translation, transformation = self.momentum(x, slope, t)
        bent = slope * weft.exp(transformation * e) + translation
        return State(
            x,
            v * weft.exp(scale * (e / 2)) - bent * (e / 2),
            log_jacobian + row_sum(scale) * (e / 2),
        )

    def pull(self, state, t):
        x, v, log_jacobian = state
        e = self.step_size
        slope = slope_of(x)
        scale, translation, transformation = self.momentum(x, slope, t)
        bent = slope * weft.exp(transformation * e) + translation
        return State(
            x,
            (v + bent * (e / 2)) * weft.exp(scale * (-e / 2)),
            log_jacobian - row_sum(scale) * (e / 2),
        )

    def drift(self, state, t, moving, resting):
        """A step of the coordinates in `moving`, bent by the others."""
        x, v, log_jacobian = state
        e = self.step_size
        scale, translation, transformation = self.position(x * resting, v, t)
        moved = (
            x * weft.exp(scale * e)
            + (v * weft.exp(transformation * e) + translation) * e
        )
        return State(
            x * resting + moved * moving,
            v,
            log_jacobian + row_sum(scale * moving) * e,
        )

    def drift_back(self, state, t, moving, resting):
        x, v, log_jacobian = state
        e = self.step_size
        scale, translation, transformation = self.position(x * resting, v, t)
        moved = (
            x - (v * weft.exp(transformation * e) + translation) * e
        ) * weft.exp(scale * -e)
        return State(
            x * resting + moved * moving,
            v,
            log_jacobian - row_sum(scale * moving) * e,
        )


def row_sum(x):
    return weft.sum(x, axis=1, keepdims=True)


def measure(name, move, chains, moves):
    best = 0.0
    for round in range(4):  # the first one warms up, and traces
        x = weft.zeros((chains, 2))
        start = time.perf_counter()
        for i in range(moves):
            x, _ = move(x, weft.tensor([1, i]), True)
        if round > 0:
            best = max(best, moves * chains / (time.perf_counter() - start))
    print(f"{name:8} {best:12.0f} chains/s   first chain at {x[0].tolist()}")


def main():
    chains = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    moves = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    sampler = L2hmc()
    sampler.initialize(seed=1)
    measure("eager", sampler.move, chains, moves)
    measure("staged", weft.jit(sampler.move), chains, moves)  # all it takes


if __name__ == "__main__":
    main()
