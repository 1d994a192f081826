"""The optimizers of lib/models.py in JAX: functions of trees of arrays."""

import jax
import jax.numpy as jnp

from lib.models import AdamW, Sgd

BETAS = 0.9, 0.999
ADAM_EPSILON = 1e-8


def first_slots(settings: Sgd | AdamW, trained):
    if isinstance(settings, AdamW):
        return {"count": jnp.zeros(()),
                "mean": jax.tree.map(jnp.zeros_like, trained),
                "square": jax.tree.map(jnp.zeros_like, trained)}
    return jax.tree.map(jnp.zeros_like, trained) if settings.momentum else {}


def updated(settings: Sgd | AdamW, trained, slots, gradients):
    """The parameters and slots after a step."""
    if settings.clip_norm:
        norm = jnp.sqrt(sum((g * g).sum() for g in gradients.values()))
        scale = jnp.minimum(1, settings.clip_norm / (norm + 1e-6))
        gradients = jax.tree.map(lambda g: g * scale, gradients)
    step = adamw if isinstance(settings, AdamW) else sgd
    return step(settings, trained, slots, gradients)


def sgd(settings: Sgd, trained, velocities, gradients):
    if settings.weight_decay:
        gradients = jax.tree.map(lambda g, p: g + settings.weight_decay * p,
                                 gradients, trained)
    if settings.momentum:
        velocities = jax.tree.map(lambda v, g: settings.momentum * v + g,
                                  velocities, gradients)
        gradients = velocities
    return (jax.tree.map(lambda p, g: p - settings.lr * g, trained, gradients),
            velocities)


def adamw(settings: AdamW, trained, slots, gradients):
    first, second = BETAS
    count = slots["count"] + 1
    mean = jax.tree.map(lambda m, g: first * m + (1 - first) * g,
                        slots["mean"], gradients)
    square = jax.tree.map(lambda s, g: second * s + (1 - second) * g * g,
                          slots["square"], gradients)
    kept = 1 - settings.lr * settings.weight_decay

    def moved(p, m, s):
        denominator = jnp.sqrt(s / (1 - second**count)) + ADAM_EPSILON
        return kept * p - settings.lr * m / (1 - first**count) / denominator
    return (jax.tree.map(moved, trained, mean, square),
            {"count": count, "mean": mean, "square": square})
