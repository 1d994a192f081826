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
  const double value = option<double>(options, "value");
  const auto rounded = static_cast<float>(value);
  // A double above 0 may round to 0, at which every entry would be sent.
  if (!(rounded > 0 && std::isfinite(rounded))) {
    throw Error(ErrorCode::kInvalidArgument, "threshold",
                "value is {}, but must be above 0 and fit an f32", value);
  }
  return std::make_unique<Threshold>(rounded);
}

}  // namespace

void register_sparsifier_threshold(SparsifierRegistry& sparsifiers) {
  sparsifiers.add({.name = "threshold",
                   .summary = "the entries of at least this magnitude",
                   .options = {{"value", 1e-3, "the least magnitude sent"}},
                   .make = make_threshold});
}

}  // namespace weft
