// Writing a number of ranks as an ordered product: how BlueConnect cuts an
// all-reduce into levels, innermost first.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/refusal.h"
#include "weft/comm/transport/topology.h"

namespace weft {

using Factors = std::vector<int>;

// Why groups of these sizes, which are positive, do not hold so many ranks;
// nothing if their product is that.
std::optional<Refusal> factors_decline(std::span<const std::int64_t> sizes,
                                       int ranks);
// Leaves factors of 1 out. They decline no number of ranks that a topology has.
Factors factors_of(std::span<const std::int64_t> sizes);
// "[4, 8, 8]"
std::string to_string(const Factors& factors);

// All ordered products of factors above 1.
std::vector<Factors> ordered_factorizations(int ranks);

// Those in which each level of the topology is a run of factors.
std::vector<Factors> compatible_factorizations(const Topology& topology);

}  // namespace weft
