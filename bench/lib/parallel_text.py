"""Texts with translations as batches, equal to those of Weft: the numbers of
words as in weft/data/parallel_text.h, the order as in weft/data/batch_order.h."""

import gzip
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lib.permutation import permutation

PADDING, BEGIN, END, UNKNOWN = range(4)
SPECIAL = ["<pad>", "<bos>", "<eos>", "<unk>"]
LEAST = 2  # occurrences of a word that has a number
ORDER, BATCHES = 0x6f726431, 0x62617431  # streams of random numbers


@dataclass(frozen=True)
class Pairs:
    source: list[list[int]]  # words <eos>
    target: list[list[int]]  # <bos> words <eos>

    def batch(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return tuple(padded([sentences[row] for row in rows],
                            max(map(len, sentences)))
                     for sentences in (self.source, self.target))


def rounded(size: int, largest: int) -> int:
    value = 1
    while value < size:
        value = max(value + 1, value * 5 // 4)
    return min(value, largest)


def padded(sentences: list[list[int]], largest: int) -> np.ndarray:
    width = rounded(max(map(len, sentences)), largest)
    return np.array([words + [PADDING] * (width - len(words))
                     for words in sentences], dtype=np.int64)


def epoch_order(pairs: Pairs, batch: int, seed: int,
                epoch: int) -> list[np.ndarray]:
    """The examples of each batch, shuffled by buckets of like sizes."""
    largest = [max(map(len, side)) for side in (pairs.source, pairs.target)]
    buckets: dict[tuple, list[int]] = {}
    for row, sentences in enumerate(zip(pairs.source, pairs.target)):
        key = tuple(rounded(len(sentence), most)
                    for sentence, most in zip(sentences, largest))
        buckets.setdefault(key, []).append(row)
    order = np.concatenate([
        np.array(rows)[permutation(len(rows), seed=seed, stream=ORDER + number,
                                   epoch=epoch)]
        for number, (_, rows) in enumerate(sorted(buckets.items()))])
    batches = [order[at:at + batch] for at in range(0, len(order), batch)]
    whole = len(order) // batch
    shuffled = permutation(whole, seed=seed, stream=BATCHES, epoch=epoch)
    return [batches[i] for i in shuffled] + batches[whole:]


class Multi30k:
    def __init__(self, folder: Path):
        text = {(part, language): self._lines(folder, part, language)
                for part in ("train", "val", "test_2016_flickr")
                for language in ("de", "en")}
        self.words = {language: self._vocabulary(text["train", language])
                      for language in ("de", "en")}
        numbers = {language: {word: i for i, word in enumerate(words)}
                   for language, words in self.words.items()}

        def pairs(part: str) -> Pairs:
            de, en = ([[max(UNKNOWN, numbers[language].get(word, UNKNOWN))
                        for word in line] + [END]
                       for line in text[part, language]]
                      for language in ("de", "en"))
            return Pairs(de, [[BEGIN] + sentence for sentence in en])
        self.train, self.test = pairs("train"), pairs("test_2016_flickr")

    @staticmethod
    def _lines(folder: Path, part: str, language: str) -> list[list[str]]:
        path = folder / f"{part}.lc.norm.tok.{language}.gz"
        text = gzip.decompress(path.read_bytes()).decode()
        # Words are parted by what C calls space, as Weft has it.
        return [line.split() for line in text.removesuffix("\n").split("\n")]

    @staticmethod
    def _vocabulary(lines: list[list[str]]) -> list[str]:
        counts = Counter(word for line in lines for word in line)
        known = [word for word, count in counts.items()
                 if count >= LEAST and word not in SPECIAL]
        return SPECIAL + sorted(known, key=lambda word: (-counts[word],
                                                         word.encode()))
