"""JAX's side of a training-step race: one function under jit for the loss, its
gradient and the update, which is given the buffers of what it replaces. Protocol:
bench/README.md."""

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import jax_models  # noqa: E402
import jax_optimizers  # noqa: E402
import jax_transformers  # noqa: E402
from lib import safetensors, synthetic  # noqa: E402
from lib.models import MODELS, Model  # noqa: E402
from lib.serve import serve, timed  # noqa: E402

CHECKED_STEPS = 5
STATISTICS = ("running_mean", "running_var")


def loss_of(model: Model, trained, statistics, state, inputs, labels):
    logits, state, following = jax_models.MODELS[model.name](
        {**trained, **statistics}, inputs, state)
    scores = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(scores, labels.reshape(-1, 1), 1)
    return -picked.mean(), (state, following)


@partial(jax.jit, static_argnums=0, donate_argnums=(1, 2, 3, 4))
def step(model: Model, trained, slots, statistics, state, inputs, labels):
    (loss, (state, following)), gradients = jax.value_and_grad(
        partial(loss_of, model), has_aux=True)(trained, statistics, state,
                                               inputs, labels)
    trained, slots = jax_optimizers.updated(model.optimizer, trained, slots,
                                            gradients)
    return loss, trained, slots, {**statistics, **following}, state


class Racer:
    def __init__(self, model: Model, options: argparse.Namespace):
        weights = jax_transformers.merged(
            {name: jnp.array(value) for name, value in
             safetensors.read(options.weights).items()})
        statistics = {name: value for name, value in weights.items()
                      if name.endswith(STATISTICS)}
        trained = {name: value for name, value in weights.items()
                   if name not in statistics}
        slots = jax_optimizers.first_slots(model.optimizer, trained)
        self.values = (trained, slots, statistics,
                       jax_models.first_state(model.name, options.batch,
                                              weights))
        self.batches = [
            tuple(map(jnp.asarray, synthetic.batch(model, options.batch, i)))
            for i in range(synthetic.DISTINCT_BATCHES)]
        self.model, self.options, self.done = model, options, 0

    def step(self) -> float:
        inputs, labels = self.batches[self.done % len(self.batches)]
        self.done += 1
        loss, *values = step(self.model, *self.values, inputs, labels)
        self.values = tuple(values)
        return float(loss)

    def check(self) -> dict:
        return {"losses": [self.step() for _ in range(CHECKED_STEPS)]}

    def block(self) -> int:
        for _ in range(self.options.steps):
            self.step()
        return self.options.steps * self.options.batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=jax_models.MODELS)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, default=1, help="in one block")
    parser.add_argument("--weights", type=Path, required=True)
    options = parser.parse_args()
    racer = Racer(MODELS[options.model], options)
    serve({"check": racer.check, "run": lambda: timed(racer.block)})


if __name__ == "__main__":
    main()
