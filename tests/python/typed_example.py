"""What runs, and what mypy --strict has to understand (./test --all)."""

import numpy as np

import weft


class Classifier(weft.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = weft.nn.Linear(2, 8)
        self.out = weft.nn.Linear(8, 2)

    def __call__(self, x: weft.TensorLike) -> weft.Tensor:
        return self.out(weft.relu(self.hidden(x)))


model = Classifier()
model.initialize(seed=1)
optimizer = weft.optim.adam(model.parameters(trainable_only=True), lr=0.01)


def loss_of(x: weft.Tensor, labels: weft.Tensor) -> weft.Tensor:
    return weft.cross_entropy(model(x), labels).mean()


@weft.jit
def step(x: weft.Tensor, labels: weft.Tensor) -> weft.Tensor:
    loss, grads = weft.value_and_grad(loss_of, wrt=model)(x, labels)
    optimizer.update(grads)
    return loss


@weft.jit(input_signature=[weft.TensorType("f32", (None, 2))])
def predict(x: weft.Tensor) -> weft.Tensor:
    return weft.argmax(weft.softmax(model(x)), axis=1)


x = weft.tensor(np.ones((4, 2), np.float32))
labels = weft.tensor([0, 1, 0, 1])
first: float = step(x, labels).item()
with weft.Tape() as tape:
    tape.watch(x)
    y = (x * 2 + 1).sum()
slope: weft.Tensor = tape.gradient(y, x)
values, positions = weft.ops.top_k(x, k=1)
count = weft.while_loop(lambda n: n < 3, lambda n: n + 1, weft.tensor(0))
mask = weft.tril(weft.ones((3, 3), dtype="bool"))
middle: weft.Tensor = weft.median(weft.linspace(0, 1, 5)).reshape(1)
solved: weft.Tensor = weft.linalg.solve(weft.eye(3), weft.ones(3))
array = np.asarray(predict(x))

drawing, _ = weft.random.split(weft.random.key(0))
draws: weft.Tensor = weft.random.gamma(drawing, 2.5, shape=(3,))
in_bins, edges = weft.histogram(draws, bins=4)
records: weft.Tensor = weft.associative_scan(weft.maximum, draws)
