#include "weft/comm/codec/bloom_policy.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "weft/base/error.h"

namespace weft {
namespace {

constexpr std::array<std::pair<std::string_view, BloomPolicy>, 7> kNames = {
    {{"naive", BloomPolicy::kNaive},
     {"p0", BloomPolicy::kP0},
     {"p1", BloomPolicy::kP1},
     {"p2", BloomPolicy::kP2},
     {"left", BloomPolicy::kLeft},
     {"middle", BloomPolicy::kMiddle},
     {"right", BloomPolicy::kRight}}};

// Uniform in 0 … limit-1.
std::uint32_t draw(const RandomStream& random, std::uint64_t index,
                   std::size_t limit) {
  return static_cast<std::uint32_t>(
      (std::uint64_t{random.word(index)} * limit) >> 32);
}

void keep_range(std::vector<std::uint32_t>& positives, std::size_t first,
                std::size_t count) {
  const auto begin = positives.begin() + static_cast<std::ptrdiff_t>(first);
  positives.erase(positives.begin(), begin);
  positives.resize(count);
}

// Selection sampling (Knuth, The Art of Computer Programming, volume 2,
// algorithm 3.4.2 S): every subset of `count` alike, in order.
void keep_random(std::vector<std::uint32_t>& positives, std::size_t count,
                 const RandomStream& random) {
  std::size_t kept = 0;
  // Where as many are left as are wanted, each is kept: the loop never leaves
  // the positives.
  for (std::size_t i = 0; kept < count; ++i) {
    // The i-th positive uses the i-th number, so both ends keep the same.
    if (draw(random, i, positives.size() - i) < count - kept) {
      positives[kept++] = positives[i];
    }
  }
  positives.resize(count);
}

// The conflict set of a set bit j: the positives of which some hash is j.
// Every inserted key lies in one, and one with a single element is a key.
class ConflictSets {
 public:
  // Elements are positions in `positives`.
  ConflictSets(const BloomFilter& filter,
               const std::vector<std::uint32_t>& positives);

  // Adds elements to `chosen` until it has `count`.
  void choose(std::size_t count, const RandomStream& random,
              std::vector<std::uint32_t>& chosen);

 private:
  struct Range {
    std::size_t first;
    std::size_t size;
  };

  std::span<std::uint32_t> elements(const Range& set) {
    return std::span(members_).subspan(set.first, set.size);
  }
  void order_by_size();

  std::vector<std::uint32_t> members_;  // set after set
  std::vector<Range> sets_;             // not empty; by size, then by bit
  std::vector<bool> is_chosen_;
};

ConflictSets::ConflictSets(const BloomFilter& filter,
                           const std::vector<std::uint32_t>& positives)
    : is_chosen_(positives.size()) {
  // Counted first, so that the sets lie one after the other in memory.
  std::vector<std::size_t> ends(filter.bits() + std::size_t{1});
  std::vector<std::uint32_t> bits;
  const auto bits_of = [&](std::uint32_t key) -> const auto& {
    bits.clear();
    for (int i = 0; i < filter.hashes(); ++i) {
      const std::uint32_t bit = filter.bit_of(key, i);
      // Two hashes of a key may fall on one bit, and it must be in the set
      // once.
      if (std::find(bits.begin(), bits.end(), bit) == bits.end()) {
        bits.push_back(bit);
      }
    }
    return bits;
  };
  for (const std::uint32_t key : positives) {
    for (const std::uint32_t bit : bits_of(key)) ++ends[bit + std::size_t{1}];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  for (std::size_t bit = 0; bit < filter.bits(); ++bit) {
    const std::size_t size = ends[bit + 1] - ends[bit];
    if (size > 0) sets_.push_back({ends[bit], size});
  }
  members_.resize(ends.back());
  for (std::uint32_t i = 0; i < positives.size(); ++i) {
    for (const std::uint32_t bit : bits_of(positives[i])) {
      members_[ends[bit]++] = i;
    }
  }
  order_by_size();
}

// Sorts by counting, as most sets are small.
void ConflictSets::order_by_size() {
  std::vector<std::size_t> places;
  for (const Range& set : sets_) {
    if (set.size >= places.size()) places.resize(set.size + 1);
    ++places[set.size];
  }
  std::exclusive_scan(places.begin(), places.end(), places.begin(),
                      std::size_t{0});
  std::vector<Range> ordered(sets_.size());
  for (const Range& set : sets_) ordered[places[set.size]++] = set;
  sets_ = std::move(ordered);
}

// Chooses as the paper has it; a set that lost an element to others in a pass
// gives none in that pass. Two passes take an element from each set or empty
// it, so it ends.
void ConflictSets::choose(std::size_t count, const RandomStream& random,
                          std::vector<std::uint32_t>& chosen) {
  std::uint64_t draws = 0;
  const auto take = [&](std::uint32_t element) {
    if (is_chosen_[element]) return;
    is_chosen_[element] = true;
    chosen.push_back(element);
  };
  while (chosen.size() < count && !sets_.empty()) {
    for (Range& set : sets_) {
      if (chosen.size() == count) return;
      const auto members = elements(set);
      if (set.size == 1) {
        take(members[0]);
        set.size = 0;
        continue;
      }
      const auto left = std::remove_if(
          members.begin(), members.end(),
          [&](std::uint32_t element) { return is_chosen_[element]; });
      const auto rest = static_cast<std::size_t>(left - members.begin());
      if (rest < set.size) {
        set.size = rest;
      } else {
        take(members[draw(random, draws++, set.size)]);
      }
    }
    std::erase_if(sets_, [](const Range& set) { return set.size == 0; });
  }
}

void keep_from_conflict_sets(std::vector<std::uint32_t>& positives,
                             std::size_t count, const BloomFilter& filter,
                             const RandomStream& random) {
  std::vector<std::uint32_t> chosen;
  chosen.reserve(count);
  ConflictSets(filter, positives).choose(count, random, chosen);
  WEFT_CHECK(chosen.size() == count, "every positive is in a conflict set");
  std::sort(chosen.begin(), chosen.end());
  // Ascending positions: none is overwritten before it is read.
  for (std::size_t i = 0; i < count; ++i) positives[i] = positives[chosen[i]];
  positives.resize(count);
}

}  // namespace

std::vector<std::string> bloom_policy_names() {
  std::vector<std::string> names;
  for (const auto& [name, policy] : kNames) names.emplace_back(name);
  return names;
}

BloomPolicy bloom_policy(std::string_view name) {
  const auto found = std::ranges::find(
      kNames, name, [](const auto& each) { return each.first; });
  WEFT_CHECK(found != kNames.end(), "no policy '{}'", name);
  return found->second;
}

std::size_t positives_needed(BloomPolicy policy, std::uint32_t count) {
  // These look at the first positives alone, so the scan need not find the
  // others.
  const bool stops =
      policy == BloomPolicy::kNaive || policy == BloomPolicy::kLeft;
  return stops ? count : std::numeric_limits<std::size_t>::max();
}

void apply_bloom_policy(BloomPolicy policy, const BloomFilter& filter,
                        std::uint32_t count, const RandomStream& random,
                        std::vector<std::uint32_t>& positives) {
  WEFT_CHECK(count <= positives.size());
  const std::size_t spare = positives.size() - count;
  switch (policy) {
    case BloomPolicy::kP0:
      return;
    case BloomPolicy::kP1:
      return keep_random(positives, count, random);
    case BloomPolicy::kP2:
      return keep_from_conflict_sets(positives, count, filter, random);
    case BloomPolicy::kNaive:
    case BloomPolicy::kLeft:
      return keep_range(positives, 0, count);
    case BloomPolicy::kMiddle:
      return keep_range(positives, spare / 2, count);
    case BloomPolicy::kRight:
      return keep_range(positives, spare, count);
  }
}

}  // namespace weft
