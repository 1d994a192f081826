// What augmentations of light have in common: a factor near 1, and pixels that
// move away from a level by it.
//
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "weft/base/option_schema.h"
#include "weft/data/augmentation.h"

namespace weft {

// How far factors are from 1 at most.
inline OptionSpec jitter_amount() {
  return {"amount",
          0.2,
          "how far the factor is from 1 at most",
          {.least = 0, .most = 1}};
}

// Uniform in [1 - amount, 1 + amount).
inline double jitter_factor(std::uint32_t word, double amount) {
  return 1 + amount * (2 * double{uniform_from(word)} - 1);
}

// Each pixel p becomes level + factor (p - level), rounded; beyond black and
// white there is nothing.
void stretch(const ImagePixels& image, double level, double factor);

}  // namespace weft
