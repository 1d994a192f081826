#include "weft/nn/sequential.h"

#include <fmt/core.h>

namespace weft::nn {

void Sequential::append(std::shared_ptr<Layer> part) {
  parts_.push_back(std::move(part));
  adopt(fmt::format("{}", parts_.size() - 1), parts_.back());
}

Value Sequential::forward(const Value& x) {
  Value y = x;
  for (const auto& part : parts_) y = (*part)(y);
  return y;
}

}  // namespace weft::nn
