// Entries drawn at random, the same on all ranks, so that their indices need
// not travel (Stich, Cordonnier and Jaggi, "Sparsified SGD with memory",
// NeurIPS 2018).
#include <algorithm>
#include <bit>
#include <cmath>

#include "weft/comm/codec/codec.h"

namespace weft {
namespace {

// A random number below `bound`: the upper half of a 64-bit word times the
// bound, whose bias of bound / 2^64 nobody can see.
std::uint32_t below(std::uint32_t bound, std::uint32_t high,
                    std::uint32_t low) {
  return static_cast<std::uint32_t>(
      (std::uint64_t{high} * bound + ((std::uint64_t{low} * bound) >> 32)) >>
      32);
}

class RandomK final : public Sparsifier {
 public:
  RandomK(double ratio, bool is_scaled)
      : ratio_(ratio), is_scaled_(is_scaled) {}

  void select(std::span<const float> values, const MessageId& id,
              std::vector<std::uint32_t>& indices) const override {
    // The values are not looked at: all ranks must pick alike.
    draw(static_cast<std::uint32_t>(values.size()), id, indices);
  }

  std::optional<std::uint32_t> count(std::uint32_t size) const override {
    return picked_of(size);
  }
  bool is_shared() const override { return true; }

  // Draws without replacement, by Floyd's method (Bentley and Floyd, "A sample
  // of brilliance", CACM 1987): the j-th step takes a random element of 0 … j,
  // or j itself if that one is taken already. A bitmap puts them in order.
  void draw(std::uint32_t size, const MessageId& id,
            std::vector<std::uint32_t>& indices) const override {
    const std::uint32_t count = picked_of(size);
    const RandomStream random = id.shared_random();
    std::vector<std::uint64_t> taken((std::size_t{size} + 63) / 64);
    const auto take = [&](std::uint32_t i) {
      const std::uint64_t bit = std::uint64_t{1} << (i % 64);
      const bool is_new = (taken[i / 64] & bit) == 0;
      taken[i / 64] |= bit;
      return is_new;
    };
    PhiloxBlock block{};
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i % 2 == 0) block = random.block(i / 2);
      // A block is four words, which make two draws.
      const std::size_t word = std::size_t{i} % 2 * 2;
      const std::uint32_t last = size - count + i;
      if (!take(below(last + 1, block[word], block[word + 1]))) take(last);
    }
    indices.reserve(indices.size() + count);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      for (std::uint64_t bits = taken[i]; bits != 0; bits &= bits - 1) {
        indices.push_back(static_cast<std::uint32_t>(
            64 * i + static_cast<std::size_t>(std::countr_zero(bits))));
      }
    }
  }

  float scale(std::uint32_t size) const override {
    if (!is_scaled_ || size == 0) return 1;
    return static_cast<float>(size) / static_cast<float>(picked_of(size));
  }
  bool is_unbiased() const override { return is_scaled_; }
  std::optional<Refusal> declines_feedback() const override {
    if (!is_scaled_) return std::nullopt;
    return Refusal{
        "error feedback",
        fmt::format("what is sent is scaled by {:.4g}, so that it overshoots",
                    1 / ratio_),
        fmt::format("randomk({}) does not scale", ratio_)};
  }

 private:
  std::uint32_t picked_of(std::uint32_t size) const {
    // A tensor that sent nothing would wait for ever in the memory.
    const auto floor = static_cast<std::uint32_t>(std::floor(ratio_ * size));
    return std::min(size, std::max(1u, floor));
  }

  double ratio_;
  bool is_scaled_;
};

std::unique_ptr<Sparsifier> make_randomk(const Options& options) {
  return std::make_unique<RandomK>(option<double>(options, "ratio"),
                                   option<bool>(options, "scale"));
}

}  // namespace

void register_sparsifier_randomk(SparsifierRegistry& sparsifiers) {
  sparsifiers.add(
      {.name = "randomk",
       .summary = "random entries, the same on all ranks",
       .options = {{"ratio",
                    0.01,
                    "share of the entries that is sent",
                    {.least = 0, .most = 1, .is_open_below = true}},
                   {"scale", false,
                    "multiply what is sent by 1 / ratio: no bias, no error "
                    "feedback"}},
       .make = make_randomk});
}

}  // namespace weft
