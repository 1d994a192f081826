// Writing a number of ranks as an ordered product: how BlueConnect cuts an
// all-reduce into levels, innermost first.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/comm/transport/topology.h"

namespace weft {

using Factors = std::vector<int>;

// Without factors of 1. Throws Error(kInvalidArgument) unless they are positive
// and their product is at most 2^20.
Factors factors_of(std::span<const std::int64_t> sizes);
// The same; their product must be `ranks`.
Factors factors_of(std::span<const std::int64_t> sizes, int ranks);
// "[4, 8, 8]"
std::string to_string(const Factors& factors);

// All ordered products of factors above 1.
std::vector<Factors> ordered_factorizations(int ranks);

// Those in which each level of the topology is a run of factors.
std::vector<Factors> compatible_factorizations(const Topology& topology);

}  // namespace weft
