#include "weft/validation/quantile_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft::validation {
namespace {

// Lower levels are smaller by this factor, which section 4 of the paper finds
// best; below the least size a level would only be sorted more often.
constexpr double kShrink = 2.0 / 3;
constexpr std::size_t kLeastRoom = 64;
// So many levels are kept; those below are sampled.
constexpr std::size_t kKeptLevels = 10;

// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
std::uint64_t scramble(std::uint64_t x) {
  x = (x + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

void QuantileSketch::make_levels(std::size_t count) {
  levels_.resize(count);
  rooms_.resize(count);
  most_ = 0;
  double room = static_cast<double>(kSize);
  for (std::size_t i = count; i-- > 0; room *= kShrink) {
    rooms_[i] = std::max(kLeastRoom, static_cast<std::size_t>(room));
    if (i >= first_) most_ += rooms_[i];
  }
  if (count <= kKeptLevels + first_) return;
  // What lower levels hold is sampled into the first that stays.
  first_ = count - kKeptLevels;
  for (std::size_t i = 0; i < first_; ++i) {
    std::vector<double> values;
    values.swap(levels_[i]);
    held_ -= values.size();
    for (const double value : values) sample(value, std::uint64_t{1} << i);
  }
}

void QuantileSketch::push(std::size_t level, double value) {
  if (level >= levels_.size()) make_levels(level + 1);
  levels_[level].push_back(value);
  ++held_;
}

// Takes in a number that counts for less than those of the first level.
void QuantileSketch::sample(double value, std::uint64_t count) {
  const std::uint64_t due = std::uint64_t{1} << first_;
  waiting_ += count;
  // With a chance of count / waiting_ it is the one that stands for all: the
  // high half of the product is below waiting_, as the rest of a division would
  // be, which takes several times as long.
  __extension__ using Wide = unsigned __int128;
  const Wide scaled = static_cast<Wide>(scramble(draws_++)) * waiting_;
  if (static_cast<std::uint64_t>(scaled >> 64) < count) drawn_ = value;
  if (waiting_ < due) return;
  waiting_ -= due;
  push(first_, drawn_);
  drawn_ = value;
}

void QuantileSketch::add(double value, std::uint64_t count) {
  count_ += count;
  const std::uint64_t low = count & ((std::uint64_t{1} << first_) - 1);
  if (low != 0) sample(value, low);
  // A number that came often is one at each level whose bit its count has.
  for (std::uint64_t bits = count - low; bits != 0; bits &= bits - 1) {
    const auto level = static_cast<std::size_t>(std::countr_zero(bits));
    // New levels may have put the first one above this.
    if (level < first_) {
      sample(value, std::uint64_t{1} << level);
    } else {
      push(level, value);
    }
  }
  while (held_ > most_) compact();
}

void QuantileSketch::compact() {
  // The lowest level that is full: its numbers count for least.
  std::size_t level = first_;
  while (levels_[level].size() < rooms_[level]) ++level;
  if (level + 1 == levels_.size()) {
    make_levels(level + 2);
    // Its numbers may have been sampled.
    if (level < first_) return;
  }
  std::vector<double>& from = levels_[level];
  std::vector<double>& to = levels_[level + 1];
  std::sort(from.begin(), from.end());
  // Where they are odd in number, one stays: the counts must add up.
  const std::size_t pairs = from.size() / 2;
  const std::size_t half = scramble(draws_++) & 1;
  for (std::size_t i = 0; i < pairs; ++i) to.push_back(from[2 * i + half]);
  held_ -= pairs;
  if (from.size() % 2 == 1) {
    from = {from.back()};
  } else {
    from.clear();
  }
}

void QuantileSketch::merge(const QuantileSketch& other) {
  // The other may be this one, which changes.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const QuantileSketch copy = other;
  make_levels(std::max(levels_.size(), copy.levels_.size()));
  for (std::size_t i = 0; i < copy.levels_.size(); ++i) {
    for (const double value : copy.levels_[i]) {
      if (i < first_) {
        sample(value, std::uint64_t{1} << i);
      } else {
        push(i, value);
      }
    }
  }
  count_ += copy.count_ - copy.waiting_;
  draws_ += copy.draws_;
  if (copy.waiting_ > 0) add(copy.drawn_, copy.waiting_);
  while (held_ > most_) compact();
}

std::vector<QuantileSketch::Weighted> QuantileSketch::sorted() const {
  std::vector<Weighted> all;
  all.reserve(held_);
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    for (const double value : levels_[i]) {
      all.push_back({value, std::uint64_t{1} << i});
    }
  }
  if (waiting_ > 0) all.push_back({drawn_, waiting_});
  std::ranges::sort(all, {}, &Weighted::value);
  return all;
}

std::vector<double> QuantileSketch::quantiles(
    const std::vector<double>& shares) const {
  WEFT_CHECK(count_ > 0);
  const std::vector<Weighted> all = sorted();
  std::vector<double> found;
  for (const double share : shares) {
    // The least value with at least so many at or below it.
    const double due = std::max(1.0, share * static_cast<double>(count_));
    std::uint64_t seen = 0;
    double value = all.back().value;
    for (const Weighted& each : all) {
      seen += each.count;
      if (static_cast<double>(seen) >= due) {
        value = each.value;
        break;
      }
    }
    found.push_back(value);
  }
  return found;
}

std::vector<double> QuantileSketch::ranks(
    const std::vector<double>& values) const {
  const std::vector<Weighted> all = sorted();
  std::vector<double> found;
  for (const double value : values) {
    std::uint64_t seen = 0;
    for (const Weighted& each : all) {
      if (each.value > value) break;
      seen += each.count;
    }
    found.push_back(static_cast<double>(seen));
  }
  return found;
}

void QuantileSketch::write(StateWriter& out) const {
  out.number(count_);
  out.number(draws_);
  out.number(waiting_);
  out.number(drawn_);
  out.number<std::uint64_t>(levels_.size());
  for (const auto& level : levels_) out.list(level);
}

QuantileSketch QuantileSketch::read(StateReader& in) {
  QuantileSketch sketch;
  sketch.count_ = in.number<std::uint64_t>();
  sketch.draws_ = in.number<std::uint64_t>();
  const auto waiting = in.number<std::uint64_t>();
  const auto drawn = in.number<double>();
  const std::size_t levels = in.count(sizeof(std::uint64_t));
  if (levels > 63) in.fail("a sketch has more than 63 levels");
  std::uint64_t count = waiting;
  sketch.make_levels(levels);
  sketch.waiting_ = waiting;
  sketch.drawn_ = drawn;
  if (waiting >= std::uint64_t{1} << sketch.first_ || std::isnan(drawn)) {
    in.fail("a sketch waits for too many");
  }
  for (std::size_t i = 0; i < levels; ++i) {
    auto& level = sketch.levels_[i];
    level = in.list<double>();
    if (i < sketch.first_ && !level.empty()) {
      in.fail("a sketch holds what it should have sampled");
    }
    if (std::ranges::any_of(level, [](double v) { return std::isnan(v); })) {
      in.fail("a sketch holds NaN");
    }
    sketch.held_ += level.size();
    count += level.size() << i;
  }
  if (count != sketch.count_) in.fail("a sketch does not add up");
  return sketch;
}

}  // namespace weft::validation
