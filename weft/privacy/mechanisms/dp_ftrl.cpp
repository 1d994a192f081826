// Sums of gradients by a binary tree whose nodes have Gaussian noise (Kairouz
// et al., "Practical and private (deep) learning without sampling or
// shuffling", ICML 2021): who takes part once is in ⌈log2(leaves + 1)⌉ nodes,
// so that it is a Gaussian mechanism of that many releases. A step is a tree:
// epochs that each begin a tree are as many steps.
#include <bit>
#include <cmath>
#include <cstdint>

#include "weft/privacy/hockey_stick.h"
#include "weft/privacy/mechanism.h"
#include "weft/privacy/renyi_divergence.h"

namespace weft {
namespace {

double noise_of_tree(const Options& options) {
  // ⌈log2(leaves + 1)⌉ in integers: the logarithm of a large double would be
  // rounded to the whole number below.
  const auto leaves =
      static_cast<std::uint64_t>(option<std::int64_t>(options, "leaves"));
  return option<double>(options, "noise") /
         std::sqrt(static_cast<double>(std::bit_width(leaves)));
}

}  // namespace

void register_mechanism_dp_ftrl(privacy::MechanismRegistry& mechanisms) {
  mechanisms.add(
      {.name = "dp_ftrl",
       .summary = "a tree of sums with Gaussian noise; a step is a tree",
       .options = {privacy::noise_option(),
                   {"leaves",
                    std::int64_t{1},
                    "updates of a tree; each person is in one",
                    // Doubles tell numbers up to this apart.
                    {.least = 1, .most = 0x1p53}}},
       .renyi =
           [](const Options& options, double order) {
             return privacy::gaussian_renyi(noise_of_tree(options), order);
           },
       .hockey_stick =
           [](const Options& options, privacy::Neighbour, double epsilon) {
             return privacy::gaussian_hockey_stick(noise_of_tree(options),
                                                   epsilon);
           }});
}

}  // namespace weft
