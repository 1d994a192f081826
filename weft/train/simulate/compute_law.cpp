#include "weft/train/simulate/compute_law.h"

namespace weft {

std::unique_ptr<ComputeLaw> make_compute_law(const std::string& text,
                                             std::uint64_t seed) {
  const auto law = parse_call(text, compute_law_registry(), "simulate.compute");
  return law.def->make(law.options, seed);
}

PhiloxBlock law_words(std::uint64_t seed, const LawStep& step,
                      std::uint64_t draw) {
  // No other part of a run draws from this stream.
  constexpr std::uint32_t kStream = 0x1A5;
  // A step has as many draws as a law likes: its number is the whole of the
  // stream's step, and ranks are far apart in the index.
  const RandomStream random{seed, kStream,
                            static_cast<std::uint32_t>(step.number)};
  return random.block(static_cast<std::uint64_t>(step.rank) << 32 | draw);
}

double inner_share(std::uint32_t word) { return (word + 0.5) / 0x1p32; }

}  // namespace weft
