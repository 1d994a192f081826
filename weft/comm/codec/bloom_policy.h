// What both ends make of a Bloom filter's positives P, which hold the support
// S and false positives (Xu et al., "DeepReduce: A sparse-tensor
// communication framework for federated deep learning", NeurIPS 2021,
// section 4). Sender and receiver run the same rule on the same filter, so no
// index travels.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/philox.h"
#include "weft/comm/codec/bloom_filter.h"

namespace weft {

enum class BloomPolicy {
  kNaive,  // the first r positives, with the values of S: shows what goes wrong
  kP0,     // all positives
  kP1,     // r positives at random
  kP2,     // r positives, one from each conflict set in turn
  kLeft,   // the first r positives
  kMiddle,  // the r positives in the middle
  kRight,   // the last r positives
};

std::vector<std::string> bloom_policy_names();
// `name` is one of them.
BloomPolicy bloom_policy(std::string_view name);

// How many positives of the scan the policy looks at.
std::size_t positives_needed(BloomPolicy policy, std::uint32_t count);

// Leaves in `positives` (ascending) those that the policy sends, ascending.
// P has at least `count` = r elements.
void apply_bloom_policy(BloomPolicy policy, const BloomFilter& filter,
                        std::uint32_t count, const RandomStream& random,
                        std::vector<std::uint32_t>& positives);

}  // namespace weft
