"""Inference by others: networks of torchvision and an unrolled SRU by PyTorch, as
they are or compiled, by onnxruntime and by OpenVINO, on random weights and one
batch.

Every runtime gets what makes it fastest: channels-last images and no gradients
for PyTorch, all graph optimizations for onnxruntime, latency mode for OpenVINO.
"""

import argparse
import io
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402
import torchvision  # noqa: E402

from lib.serve import serve, timed  # noqa: E402

RUNS_OF_BLOCK = 10
STEPS = 20  # of an SRU, whose side is its width


class Bypassed(torch.nn.Module):
    """A fire module with a 1 x 1 convolution around it where widths differ
    (Iandola et al., "SqueezeNet", 2016, figure 2, to the right)."""

    def __init__(self, fire: torch.nn.Module):
        super().__init__()
        self.fire = fire
        inputs = fire.squeeze.in_channels
        outputs = fire.expand1x1.out_channels + fire.expand3x3.out_channels
        self.around = (torch.nn.Identity() if inputs == outputs
                       else torch.nn.Conv2d(inputs, outputs, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fire(x) + self.around(x)


def squeezenet_complex() -> torch.nn.Module:
    model = torchvision.models.squeezenet1_0()
    for i, layer in enumerate(model.features):
        if hasattr(layer, "squeeze"):
            model.features[i] = Bypassed(layer)
    return model


class Sru(torch.nn.Module):
    """Simple recurrent units (Lei et al., 2017), with a product for each gate
    and step, as weft-bench has them; the last h."""

    def __init__(self, width: int):
        super().__init__()
        self.w, self.wf, self.wr = (torch.nn.Parameter(0.02 * torch.randn(
            width, width)) for _ in range(3))

    def forward(self, xs: torch.Tensor) -> torch.Tensor:
        c = torch.zeros_like(xs[0])
        for x in xs.unbind(0):
            f = torch.sigmoid(x @ self.wf)
            r = torch.sigmoid(x @ self.wr)
            c = f * c + (1 - f) * (x @ self.w)
        return r * torch.tanh(c) + (1 - r) * x


NETWORKS = {
    "squeezenet": squeezenet_complex,
    "resnet18": torchvision.models.resnet18,
    "resnet50": torchvision.models.resnet50,
    "inception-v3": lambda: torchvision.models.inception_v3(
        init_weights=False, aux_logits=False),
}


def channels_last(value):
    """What has no images has no such form."""
    has_images = not isinstance(value, torch.Tensor) or value.dim() == 4
    return value.to(memory_format=torch.channels_last) if has_images else value


def eager(model: torch.nn.Module, image: torch.Tensor) -> Callable:
    model, image = channels_last(model), channels_last(image)
    return lambda: model(image)


def compiled(model: torch.nn.Module, image: torch.Tensor) -> Callable:
    image = channels_last(image)
    fast = torch.compile(channels_last(model))
    return lambda: fast(image)


def onnxruntime(model: torch.nn.Module, image: torch.Tensor) -> Callable:
    import onnxruntime as runtime
    file = io.BytesIO()
    torch.onnx.export(model, (image,), file, dynamo=False)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.inter_op_num_threads = 1
    session = runtime.InferenceSession(file.getvalue(), options,
                                       providers=["CPUExecutionProvider"])
    given = {session.get_inputs()[0].name: image.numpy()}
    return lambda: session.run(None, given)


def openvino(model: torch.nn.Module, image: torch.Tensor) -> Callable:
    import openvino as vino
    network = vino.compile_model(
        vino.convert_model(model, example_input=image), "CPU",
        {"PERFORMANCE_HINT": "LATENCY",
         "INFERENCE_NUM_THREADS": torch.get_num_threads(),
         "INFERENCE_PRECISION_HINT": "f32"})
    request = network.create_infer_request()
    request.set_input_tensor(vino.Tensor(image.numpy(), shared_memory=True))
    return request.infer


RUNTIMES = {"eager": eager, "compile": compiled, "onnxruntime": onnxruntime,
            "openvino": openvino}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("network", choices=[*NETWORKS, "sru"])
    parser.add_argument("--runtime", choices=RUNTIMES, required=True)
    parser.add_argument("--side", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    with torch.inference_mode():
        if given.network == "sru":
            model = Sru(given.side).eval()
            image = torch.zeros(STEPS, given.batch, given.side)
        else:
            model = NETWORKS[given.network]().eval()
            image = torch.zeros(given.batch, 3, given.side, given.side)
        run = RUNTIMES[given.runtime](model, image)

        def block() -> int:
            for _ in range(RUNS_OF_BLOCK):
                run()
            return RUNS_OF_BLOCK

        serve({"run": lambda: timed(block)})


if __name__ == "__main__":
    main()
