#include "weft/validation/feature_statistics.h"

#include <algorithm>
#include <array>

#include "weft/validation/value_hash.h"

namespace weft::validation {
namespace {

// The weight of the row of each value.
std::vector<double> weights_of_values(const Column& column,
                                      std::span<const double> weights) {
  std::vector<double> all;
  if (weights.empty()) return all;
  all.reserve(column.values.size());
  const std::vector<std::int64_t> counts = values_per_row(column);
  for (std::size_t row = 0; row < counts.size(); ++row) {
    all.insert(all.end(), static_cast<std::size_t>(counts[row]), weights[row]);
  }
  return all;
}

bool is_string_at(const Column& column, std::size_t i) {
  return !column.are_strings.empty() && column.are_strings[i] != 0;
}

}  // namespace

void ListLengths::add(std::int64_t length, std::uint64_t count) {
  if (count == 0) return;
  least = lists == 0 ? length : std::min(least, length);
  most = std::max(most, length);
  lists += count;
  total += static_cast<std::uint64_t>(length) * count;
  quantiles.add(static_cast<double>(length), count);
}

void ListLengths::merge(const ListLengths& other) {
  if (other.lists == 0) return;
  least = lists == 0 ? other.least : std::min(least, other.least);
  most = std::max(most, other.most);
  lists += other.lists;
  total += other.total;
  quantiles.merge(other.quantiles);
}

void ListLengths::write(StateWriter& out) const {
  out.number(lists);
  out.number(least);
  out.number(most);
  out.number(total);
  quantiles.write(out);
}

ListLengths ListLengths::read(StateReader& in) {
  ListLengths lengths;
  lengths.lists = in.number<std::uint64_t>();
  lengths.least = in.number<std::int64_t>();
  lengths.most = in.number<std::int64_t>();
  lengths.total = in.number<std::uint64_t>();
  lengths.quantiles = QuantileSketch::read(in);
  if (lengths.quantiles.count() != lengths.lists) {
    in.fail("lists and their lengths differ in number");
  }
  const auto mean =
      static_cast<double>(lengths.total) /
      static_cast<double>(std::max<std::uint64_t>(lengths.lists, 1));
  if (lengths.least < 0 || mean < static_cast<double>(lengths.least) ||
      mean > static_cast<double>(lengths.most)) {
    in.fail("lengths of lists do not add up");
  }
  return lengths;
}

void FeatureStatistics::add(const Column& column,
                            std::span<const double> weights) {
  is_typed_ = is_typed_ || column.is_typed;
  add_levels(column);
  if (!weights.empty()) {
    for (std::size_t row = 0; row < column.levels[0].size(); ++row) {
      if (column.levels[0][row] >= 0) weight_ += weights[row];
    }
  }
  add_values(column, weights_of_values(column, weights));
  // A value is kept cut, so that each is decoded while it is here.
  if (!images_) return;
  for (const std::string_view value : column.values) images_->add(value);
}

void FeatureStatistics::add_levels(const Column& column) {
  const std::size_t depth = column.levels.size();
  // Empty lists do not show how deep they would be.
  if (levels_.size() != depth && has_values() && !column.values.empty()) {
    throw Error(ErrorCode::kDataLoss, column.name,
                "its lists are nested {} deep, and were {} deep before", depth,
                levels_.size());
  }
  levels_.resize(std::max(levels_.size(), depth));
  for (std::size_t level = 0; level < depth; ++level) {
    // Rows of a table all have one value, or none: lengths that follow each
    // other are mostly the same.
    const std::vector<std::int32_t>& lengths = column.levels[level];
    for (std::size_t i = 0; i < lengths.size();) {
      std::size_t end = i + 1;
      while (end < lengths.size() && lengths[end] == lengths[i]) ++end;
      if (lengths[i] >= 0) {
        levels_[level].add(lengths[i], end - i);
        if (level == 0) rows_ += end - i;
      }
      i = end;
    }
  }
}

void FeatureStatistics::add_values(const Column& column,
                                   std::span<const double> weights) {
  if (profile_) return add_many(column, 0, weights);
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    const bool is_string = is_string_at(column, i);
    const std::string_view text = column.values[i];
    if (!counts_.add(hash_text(text, is_string), text, is_string,
                     weights.empty() ? 0 : weights[i])) {
      begin_profile();
      return add_many(column, i, weights);
    }
  }
}

// The values from `from` on, of which there are too many to count each.
void FeatureStatistics::add_many(const Column& column, std::size_t from,
                                 std::span<const double> weights) {
  // A list of all numbers would be new memory for each batch.
  constexpr std::size_t kTogether = 512;
  std::array<std::uint64_t, kTogether> hashes;
  std::array<double, kTogether> numbers;
  std::array<double, kTogether> their_weights;
  for (; from < column.values.size(); from += kTogether) {
    const std::size_t values = std::min(kTogether, column.values.size() - from);
    // A table of so many is in no near cache: what is asked of it is on its way
    // while other hashes are computed.
    for (std::size_t i = 0; i < values; ++i) {
      hashes[i] =
          hash_text(column.values[from + i], is_string_at(column, from + i));
      counts_.prefetch(hashes[i]);
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < values; ++i) {
      const bool is_string = is_string_at(column, from + i);
      const std::string_view text = column.values[from + i];
      const double weight = weights.empty() ? 0 : weights[from + i];
      counts_.add_frequent(hashes[i], text, is_string, weight);
      if (profile_->add(hashes[i], text, text.size(), is_string, 1,
                        &numbers[count])) {
        their_weights[count++] = weight;
      }
    }
    profile_->add_numbers(
        std::span(numbers).first(count),
        std::span(their_weights).first(weights.empty() ? 0 : count));
  }
}

void FeatureStatistics::begin_profile() {
  if (!profile_) profile_ = profile();
}

ValueProfile FeatureStatistics::profile() const {
  if (profile_) return *profile_;
  ValueProfile profile;
  profile.vocabulary = vocabulary_;
  for (const ValueCount& value : counts_.values()) profile.add(value);
  return profile;
}

double FeatureStatistics::distinct() const {
  return profile_ ? profile_->distinct.estimate()
                  : static_cast<double>(counts_.size());
}

void FeatureStatistics::merge(const FeatureStatistics& other) {
  if (levels_.size() != other.levels_.size() && has_values() &&
      other.has_values()) {
    throw Error(ErrorCode::kInvalidArgument, "statistics",
                "lists that are nested {} deep, and others {} deep, are not "
                "of one feature",
                levels_.size(), other.levels_.size());
  }
  rows_ += other.rows_;
  weight_ += other.weight_;
  is_typed_ = is_typed_ || other.is_typed_;
  levels_.resize(std::max(levels_.size(), other.levels_.size()));
  for (std::size_t i = 0; i < other.levels_.size(); ++i) {
    levels_[i].merge(other.levels_[i]);
  }
  if (images_ && other.images_) images_->merge(*other.images_);
  counts_.grow(other.counts_.capacity());
  if (!profile_ && !other.profile_ && counts_.merge(other.counts_)) return;
  begin_profile();
  profile_->merge(other.profile());
  counts_.merge_frequent(other.counts_);
}

void FeatureStatistics::write(StateWriter& out) const {
  out.number(rows_);
  out.number(weight_);
  out.number(is_typed_);
  out.number<std::uint64_t>(levels_.size());
  for (const ListLengths& level : levels_) level.write(out);
  counts_.write(out);
  out.number(profile_.has_value());
  if (profile_) profile_->write(out);
  out.number(images_.has_value());
  if (images_) images_->write(out);
}

FeatureStatistics FeatureStatistics::read(
    StateReader& in, std::shared_ptr<const Vocabulary> vocabulary) {
  FeatureStatistics feature(0, std::move(vocabulary));
  feature.rows_ = in.number<std::uint64_t>();
  feature.weight_ = in.number<double>();
  feature.is_typed_ = in.number<std::uint8_t>() != 0;
  const std::size_t levels = in.count(sizeof(ListLengths));
  for (std::size_t i = 0; i < levels; ++i) {
    feature.levels_.push_back(ListLengths::read(in));
  }
  feature.counts_ = ValueCounts::read(in);
  if (in.number<std::uint8_t>() != 0) {
    feature.profile_ = ValueProfile::read(in);
    feature.profile_->vocabulary = feature.vocabulary_;
  }
  if (in.number<std::uint8_t>() != 0) feature.images_ = ImageCounts::read(in);
  return feature;
}

}  // namespace weft::validation
