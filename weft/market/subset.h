// Which examples of a job's shards are read: "20,40,676", "10000-12000,13444",
// or nothing for all. Examples are numbered from 0, in the order of the shards
// and then of their rows.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::market {

struct ExampleRange {
  std::int64_t first = 0;
  std::int64_t last = 0;  // included

  bool operator==(const ExampleRange&) const = default;
};

// Ranges in ascending order that do not touch: what is named twice counts once.
// Throws Error(kInvalidArgument) for a text of another form, a range that ends
// before it begins, and an example at or beyond `size`.
std::vector<ExampleRange> parse_subset(std::string_view text,
                                       std::int64_t size);

// How many examples of each shard, of which `sizes` says how large they are,
// are in the ranges.
std::vector<std::int64_t> examples_by_shard(
    const std::vector<ExampleRange>& ranges,
    std::span<const std::int64_t> sizes);

}  // namespace weft::market
