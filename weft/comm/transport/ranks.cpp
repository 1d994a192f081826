#include "weft/comm/transport/ranks.h"

#include <algorithm>

namespace weft {
namespace {

bool are_evenly_spaced(std::span<const int> ranks) {
  for (std::size_t i = 2; i < ranks.size(); ++i) {
    if (ranks[i] - ranks[i - 1] != ranks[1] - ranks[0]) return false;
  }
  return true;
}

}  // namespace

Ranks::Ranks(std::vector<int> list) : size_(static_cast<int>(list.size())) {
  if (!are_evenly_spaced(list)) {
    list_ = std::make_shared<const std::vector<int>>(std::move(list));
    return;
  }
  if (size_ > 0) first_ = list[0];
  if (size_ > 1) stride_ = list[1] - list[0];
}

int Ranks::position_of(int rank) const {
  int position = -1;
  if (list_ != nullptr) {
    position =
        static_cast<int>(std::ranges::find(*list_, rank) - list_->begin());
  } else if (stride_ != 0) {
    position = (rank - first_) / stride_;
  }
  WEFT_CHECK(position >= 0 && position < size_ && (*this)[position] == rank,
             "rank {} is not of its own group", rank);
  return position;
}

Ranks Ranks::pick(std::span<const int> positions) const {
  std::vector<int> picked;
  picked.reserve(positions.size());
  for (const int position : positions) picked.push_back((*this)[position]);
  return Ranks(std::move(picked));
}

std::vector<int> Ranks::list() const {
  std::vector<int> all;
  for (int position = 0; position < size_; ++position) {
    all.push_back((*this)[position]);
  }
  return all;
}

}  // namespace weft
