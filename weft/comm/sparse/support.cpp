#include "weft/comm/sparse/support.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"

namespace weft {

namespace {

// The logarithm of the chance that a contribution has nothing at an element.
// log1p and expm1 keep what is left of tiny densities.
double log_absent(double size, double items) {
  if (items >= size) return -std::numeric_limits<double>::infinity();
  return std::log1p(-std::max(items, 0.) / size);
}

}  // namespace

double expected_items(double size, double items, double ranks) {
  // An element is in the sum unless all ranks lack it: size (1 - (1 - items /
  // size)^ranks), with ranks taken to be independent.
  return size <= 0 ? 0 : -size * std::expm1(ranks * log_absent(size, items));
}

Support Support::random(std::uint64_t size, double items) {
  return Support({{static_cast<double>(size), items}});
}

Support Support::skewed(std::uint64_t size, double items) {
  constexpr int kQuarterings = 8;
  std::vector<Cell> cells;
  double begin = 0;
  double before = 0;
  for (int i = kQuarterings; i >= 0; --i) {
    // A quarter of the elements holds half of the items, at every scale.
    const double end = std::ldexp(static_cast<double>(size), -2 * i);
    const double share = std::ldexp(1, -i);
    cells.push_back({end - begin, items * (share - before)});
    begin = end;
    before = share;
  }
  return Support(std::move(cells));
}

Support::Support(std::vector<Cell> cells) : cells_(std::move(cells)) {
  for (const Cell& cell : cells_) {
    size_ += cell.size;
    items_ += cell.items;
    log_absent_.push_back(log_absent(cell.size, cell.items));
  }
}

double Support::sum_items(double ranks) const {
  double sum = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    sum += cells_[i].size * sum_density(i, ranks);
  }
  return sum;
}

double Support::sum_density(std::size_t cell, double ranks) const {
  return -std::expm1(ranks * log_absent_[cell]);
}

std::vector<double> Support::sum_items(double ranks,
                                       const Partitions& cut) const {
  WEFT_CHECK(static_cast<double>(cut.whole()) == size_);
  std::vector<double> sums(static_cast<std::size_t>(cut.count()));
  int part = 0;
  double begin = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const double end = begin + cells_[i].size;
    const double density = sum_density(i, ranks);
    // Cells and parts are both in order, so one walk goes over both.
    for (;; ++part) {
      const auto first = static_cast<double>(cut.begin(part));
      const auto last = static_cast<double>(cut.end(part));
      sums[static_cast<std::size_t>(part)] +=
          density * std::max(0., std::min(last, end) - std::max(first, begin));
      // The part goes on in the next cell, so it stays the current one.
      if (last > end || part + 1 == cut.count()) break;
    }
    begin = end;
  }
  return sums;
}

Partitions Support::cut(int parts, double evenness) const {
  if (items_ <= 0 || evenness >= 1) {
    return Partitions::even(static_cast<std::uint64_t>(size_), parts);
  }
  const double of_element = evenness / size_;
  const double of_item = (1 - evenness) / items_;
  std::vector<std::uint64_t> ends;
  double begin = 0;
  double weight = 0;  // of all before `begin`
  for (const Cell& cell : cells_) {
    const double added = cell.size * of_element + cell.items * of_item;
    while (static_cast<int>(ends.size()) + 1 < parts) {
      // A cell may hold several ends: inside it, weight is taken to be even.
      const double wanted = static_cast<double>(ends.size() + 1) / parts;
      // A cell without weight holds no end, and would be divided by.
      if (weight + added < wanted || added <= 0) break;
      const double share = (wanted - weight) / added;
      ends.push_back(static_cast<std::uint64_t>(
          std::llround(begin + std::clamp(share, 0., 1.) * cell.size)));
    }
    begin += cell.size;
    weight += added;
  }
  // Rounding may leave the last ones over.
  ends.resize(static_cast<std::size_t>(parts),
              static_cast<std::uint64_t>(size_));
  return Partitions(std::move(ends));
}

}  // namespace weft
