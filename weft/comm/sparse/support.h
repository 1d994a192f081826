// Where the items of contributions lie, and how full their sums get.
//
// Threads: pure; Support is a value type.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/comm/sparse/partitions.h"

namespace weft {

// The expected items of the sum of `ranks` vectors of `size` elements, each
// with `items` at random places: N (1 - (1 - k / N)^P).
double expected_items(double size, double items, double ranks);

// A histogram of an index space. Inside a cell the items of each contribution
// are taken to lie at random, so narrow cells where items are many tell a
// skewed support from an even one.
class Support {
 public:
  struct Cell {
    double size = 0;   // elements
    double items = 0;  // of one contribution, on average
  };

  // A support of no elements.
  Support() = default;
  // Items lie at random places of the whole vector.
  static Support random(std::uint64_t size, double items);
  // Half of the items in the first quarter, and there again: item densities
  // that fall with the square root of the index.
  static Support skewed(std::uint64_t size, double items);
  // Cells are given in order.
  explicit Support(std::vector<Cell> cells);

  double size() const { return size_; }
  double items() const { return items_; }
  // What the sum of `ranks` contributions holds, in all and in each part.
  double sum_items(double ranks) const;
  std::vector<double> sum_items(double ranks, const Partitions& cut) const;

  // Cuts so that every part has the same share of a weight: an element and an
  // item weigh what all elements together, and all items together, weigh
  // `evenness` and 1 - `evenness`. With 0, parts hold equally many items; with
  // 1, elements.
  Partitions cut(int parts, double evenness) const;

 private:
  // The share of a cell's elements that a sum of `ranks` contributions holds.
  double sum_density(std::size_t cell, double ranks) const;

  std::vector<Cell> cells_;
  std::vector<double> log_absent_;  // by cell
  double size_ = 0;
  double items_ = 0;
};

}  // namespace weft
