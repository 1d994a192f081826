// The noise of differentially private training, and the mean that comes of it:
//
//   g = (Σᵢ gᵢ min(1, C / ‖gᵢ‖) + N(0, σ²C²)) / expected batch
//
// It is a function of the run's key, of the step's number and of the
// parameter's: a run that is resumed adds what it would have, and tells nothing
// more, and workers who have the same sum and the same key add the same noise.
//
// Source:  Abadi et al., "Deep Learning with Differential Privacy", CCS 2016,
//          algorithm 1.
// Threads: immutable; a call takes the compute threads.
#pragma once

#include <cstdint>
#include <span>

#include "weft/privacy/noise/secret_key.h"

namespace weft {

struct PrivateNoise {
  double deviation = 1;  // of the noise: σC
  // Examples of a batch that are expected; gradients are divided by it.
  double expected_batch = 1;
  // Runs that make a batch together, each with some of its examples; the last
  // one adds the noise. Their mean is what the optimizer takes (accumulate).
  std::int64_t parts = 1;
  SecretKey key;

  // Makes of the sum of the clipped gradients of parameter `parameter`, in run
  // `number`, what the optimizer gets. About 10 ns a value.
  void add(std::span<float> sum, std::int64_t number,
           std::size_t parameter) const;
};

}  // namespace weft
