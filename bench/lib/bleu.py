"""Corpus BLEU of four-grams with a brevity penalty, as in
weft/train/step/bleu.h."""

from collections import Counter
from math import exp, log

LONGEST = 4


def runs(words: list[int], length: int) -> Counter:
    return Counter(tuple(words[i:i + length])
                   for i in range(len(words) - length + 1))


def bleu(translations: list[list[int]], references: list[list[int]]) -> float:
    shared, counted = [0] * LONGEST, [0] * LONGEST
    for translation, reference in zip(translations, references, strict=True):
        for n in range(LONGEST):
            found = runs(translation, n + 1)
            shared[n] += (found & runs(reference, n + 1)).total()
            counted[n] += found.total()
    if not shared[0] or not counted[-1]:
        return 0.0
    halved, mean = 1.0, 0.0
    for hits, count in zip(shared, counted):
        if not hits:
            halved /= 2
        mean += log((hits or halved) / count) / LONGEST
    missing = 1 - (sum(map(len, references)) / sum(map(len, translations)))
    return 100 * exp(min(0.0, missing) + mean)
