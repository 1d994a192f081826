#!/usr/bin/env python3
"""Each shipped recipe, from the files of its set to what it learns. On the
real sets `bench/run engine` and `bench/run functions` train them."""

import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small_sets import WORDS, write_set  # noqa: E402
from weft import ROOT, CliTest  # noqa: E402


class RecipesTest(CliTest):
    def train(self, recipe: str, data: str, *overrides: str) -> dict:
        if data != "none" and not (self.folder / data).exists():
            write_set(data, self.folder)
        options = [word for each in overrides for word in ("--set", each)]
        # What is played needs no folder.
        where = ["--data", self.folder] if data != "none" else []
        run = self.folder / "run"
        result = self.json_of("train", ROOT / "recipes" / f"{recipe}.toml",
                              *where, "--threads", 1, "--out", run, *options)
        # Whatever is trained can be handed on by itself.
        self.json_of("export", run, "-o", self.folder / "model.weft", *where)
        return result

    def test_mnist(self) -> None:
        result = self.train("mnist", "mnist", "train.epochs=5")
        self.assertGreater(result["test_accuracy"], 0.9)

    def test_mnist_private(self) -> None:
        # There are few examples, so that little noise must do.
        result = self.train("mnist-private", "mnist", "train.epochs=15",
                            "train.batch=64", "privacy.noise=0.1",
                            "optimizer.lr=0.5")
        self.assertGreater(result["test_accuracy"], 0.6)

    def test_cifar10_resnet20(self) -> None:
        for dtype in ("f32", "bf16"):
            result = self.train(
                "cifar10-resnet20", "cifar10", "train.max_steps=80",
                "train.batch=32", f"train.dtype={dtype}",
                'optimizer.lr="cosine(from=0.05, to=0.0005, warmup=10)"')
            self.assertLess(result["train_loss"], 1.8, dtype)
            self.assertGreater(result["test_accuracy"], 0.5, dtype)

    def test_densenet_cifar10(self) -> None:
        # Ten of the hundred layers, which are enough for digits.
        result = self.train(
            "densenet-cifar10", "cifar10", "train.max_steps=120",
            "train.batch=32", "model.depth=10", "data.augment=[]",
            'optimizer.lr="cosine(from=0.4, to=0.001, warmup=10)"')
        self.assertGreater(result["test_accuracy"], 0.5)

    def test_digits_ternary(self) -> None:
        recipe = ROOT / "recipes" / "digits-ternary.toml"
        result = self.json_of("train", recipe, "--threads", 1,
                              "--out", self.folder / "run")
        self.assertGreater(result["test_accuracy"], 0.97)
        # What is loaded computes with three weights too.
        again = self.json_of("eval", self.folder / "run")
        self.assertEqual(again["test_accuracy"], result["test_accuracy"])

    def test_digits_layers(self) -> None:
        recipe = ROOT / "recipes" / "digits-layers.toml"
        result = self.json_of("train", recipe, "--threads", 1,
                              "--out", self.folder / "run")
        self.assertGreater(result["test_accuracy"], 0.98)
        # A checkpoint's recipe has the layers written out.
        again = self.json_of("eval", self.folder / "run")
        self.assertEqual(again["test_accuracy"], result["test_accuracy"])

    def test_fashion_vae(self) -> None:
        result = self.train("fashion-vae", "fashion-mnist", "train.epochs=15", "train.batch=32")
        # The mean image in place of every image has 240.
        self.assertLess(result["test_bound"], 180)
        self.assertGreater(result["test_divergence"], 3)

    def test_cart_pole(self) -> None:
        result = self.train("cart-pole", "none", "train.epochs=4",
                            "data.measured=20")
        # A policy that knows nothing keeps the pole up for some 20 steps.
        self.assertGreater(result["test_reward"], 150)
        again = self.train("cart-pole", "none", "train.epochs=4",
                           "data.measured=20")
        self.assertEqual(result["test_reward"], again["test_reward"])

    def test_cora_walks(self) -> None:
        result = self.train("cora-walks", "cora", "train.epochs=3",
                            "train.batch=256")
        # Nodes of one circle are near each other.
        self.assertGreater(result["test_auc"], 0.9)
        said = self.json_of("predict", self.folder / "run", "3")
        self.assertTrue(all(int(each["node"]) % 4 == 3
                            for each in said["near"]))
        self.assertEqual(said, self.json_of("predict", self.folder / "run",
                                            self.write("node.txt", "3\n")))

    def test_ptb_lstm(self) -> None:
        result = self.train("ptb-lstm", "ptb", "train.epochs=3",
                            "train.batch=5", "train.steps=20",
                            "model.hidden=100")
        self.assertLess(result["test_loss"], 0.75 * math.log(WORDS))

    def test_ptb_by_layers(self) -> None:
        result = self.train(
            "ptb-lstm", "ptb", "train.epochs=3", "train.batch=5",
            "train.steps=20",
            "task.name=language-model",
            'model={name = "sequential", layers = '
            '["embedding(100)", "lstm", "linear"]}')
        self.assertLess(result["test_loss"], 0.75 * math.log(WORDS))

    def test_shakespeare_lstm(self) -> None:
        result = self.train("shakespeare-lstm", "tinyshakespeare",
                            "train.epochs=6", "train.batch=5",
                            "train.steps=20", "model.hidden=32")
        # The first letter of three characters is one of four.
        self.assertLess(result["test_loss"], 1.3 * math.log(4) / 3)

    def test_sst_treelstm(self) -> None:
        result = self.train("sst-treelstm", "sst", "train.epochs=3")
        self.assertGreater(result["test_accuracy"], 0.9)

    def read_sentences(self, recipe: str) -> None:
        result = self.train(
            recipe, "sst", "train.epochs=6", "train.batch=32",
            "data.examples=phrases",
            "model.hidden=32", "model.embedding=32", "model.dropout=0.0",
            'optimizer.lr="cosine(from=0.01, to=0.0001)"')
        self.assertGreater(result["test_accuracy"], 0.9)
        run = (self.folder / "run", "--data", self.folder)
        said = self.json_of("predict", "--json", *run, "word12 word31 new")
        self.assertEqual(said["class"], "positive")
        self.assertEqual(said["unknown"], ["new"])
        text = self.write("review.txt", "word12 word31 new\n")
        self.assertEqual(said, self.json_of("predict", *run, text))
        text.write_bytes(b"\xff\xd8")
        self.refuse("predict", *run, text, parts=("review.txt", "no text"))

    def test_sst_lstm(self) -> None:
        self.read_sentences("sst-lstm")

    def test_sst_sru(self) -> None:
        self.read_sentences("sst-sru")

    def test_adult(self) -> None:
        result = self.train("adult", "adult")
        self.assertGreater(result["test_accuracy"], 0.95)
        self.assertGreater(result["test_auc"], 0.97)

    def test_adult_answers(self) -> None:
        result = self.train("adult-answers", "adult")
        self.assertGreater(result["test_micro_f1"], 0.95)

    def test_taxi(self) -> None:
        result = self.train("taxi", "chicago-taxi")
        self.assertLess(result["test_mae"], 2)  # dollars
        self.assertGreater(result["test_r2"], 0.9)

    def test_multi30k(self) -> None:
        result = self.train(
            "multi30k", "multi30k", "train.epochs=10", "train.batch=32",
            "model.width=32", "model.heads=2", "model.middle=64",
            "model.layers=1", "model.dropout=0.0",
            'optimizer.lr="cosine(from=0.01, to=0.0001, warmup=30)"')
        self.assertLess(result["test_perplexity"], 1.2)
        self.assertGreater(result["test_bleu"], 90)
        trained = (self.folder / "run", "--data", self.folder)
        again = self.json_of("eval", *trained)
        self.assertEqual(again["test_bleu"], result["test_bleu"])
        sentence = "wort1 wort2 wort3 wort4"
        self.assertEqual(self.succeed("predict", *trained, sentence),
                         "word4 word1 word2 word3\n")
        beam = self.json_of("predict", "--json", *trained, sentence)["beam"]
        self.assertEqual(beam[0]["text"], "word4 word1 word2 word3")
        self.assertEqual(self.succeed("predict", *trained,
                                      self.write("text.de", sentence + "\n")),
                         "word4 word1 word2 word3\n")
        self.assertEqual(len(beam), 4)
        self.assertGreater(beam[0]["score"], beam[1]["score"])

    def test_multi30k_by_recurrent_layers(self) -> None:
        result = self.train(
            "multi30k", "multi30k", "train.epochs=10", "train.batch=32",
            'model={name = "gnmt", width = 64, layers = 2, dropout = 0.0}',
            'optimizer.lr="cosine(from=0.02, to=0.0001, warmup=30)"')
        self.assertLess(result["test_perplexity"], 1.3)
        self.assertGreater(result["test_bleu"], 80)

    def test_none_is_left_out(self) -> None:
        recipes = {path.stem for path in (ROOT / "recipes").glob("*.toml")}
        trained = {recipe for recipe in recipes
                   if hasattr(self, f"test_{recipe.replace('-', '_')}")}
        self.assertEqual(recipes - trained, {"digits"})  # digits_test.py


if __name__ == "__main__":
    sys.exit(unittest.main())
