"""A variational autoencoder on Fashion-MNIST; codes are drawn by each side for
itself."""

from lib.bench import Bar, Bench, Setting
from lib.suite import marked
from lib.task_race import race_task

STEPS = 468  # three epochs of whole batches
QUICK_STEPS = 78
DRAWN_GAP = 5e-3  # of the first losses, for codes that are drawn


def benches(where: Setting) -> list[Bench]:
    speed = Bar("fashion-vae step, b128", "img/s", 1.0)
    bound = Bar("fashion-vae: held-out bound after the same steps", "nats", 0.98)

    def measure() -> dict:
        steps = QUICK_STEPS if where.quick else STEPS
        found = race_task(where, "fashion-vae", "fashion-mnist", "vae", steps,
                          DRAWN_GAP)
        ours, peer = found.ours["bound"], found.peer["bound"]
        return {speed.name: found.rates, bound.name: {
            "ours": ours, "peer": peer, "peer_name": where.peers.torch_name,
            "ratio": peer / ours,
            "note": marked(where, f"per image, after {steps:,} steps from the "
                           "same weights")}}

    return [Bench((speed, bound), measure)]
