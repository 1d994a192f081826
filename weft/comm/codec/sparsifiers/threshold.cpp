// The entries whose magnitude reaches a fixed value (Strom, "Scalable
// distributed DNN training using commodity GPU cloud computing", 2015).
#include <cmath>

#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/topk_select.h"

namespace weft {
namespace {

class Threshold final : public Sparsifier {
 public:
  explicit Threshold(float value) : value_(value) {}

  void select(std::span<const float> values, const MessageId&,
              std::vector<std::uint32_t>& indices) const override {
    select_from(values, value_, indices);
  }

 private:
  float value_;
};

std::unique_ptr<Sparsifier> make_threshold(const Options& options) {
  return std::make_unique<Threshold>(
      static_cast<float>(option<double>(options, "value")));
}

}  // namespace

void register_sparsifier_threshold(SparsifierRegistry& sparsifiers) {
  sparsifiers.add({.name = "threshold",
                   .summary = "the entries of at least this magnitude",
                   .options = {{"value",
                                1e-3,
                                "the least magnitude sent",
                                // What rounds to a positive, finite f32.
                                {.least = 1e-45, .most = 3.4e38}}},
                   .make = make_threshold});
}

}  // namespace weft
