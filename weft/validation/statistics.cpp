#include "weft/validation/statistics.h"

#include <algorithm>
#include <cmath>

#include "weft/base/checksum.h"
#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

// Its number grows with the form, so that bytes of another one are refused.
constexpr std::string_view kMark = "weft statistics 4\n";

const Column& column_of(const ColumnBatch& batch, const std::string& name,
                        std::string_view use) {
  const auto found = std::ranges::find(batch.columns, name, &Column::name);
  if (found != batch.columns.end()) return *found;
  std::vector<std::string> known;
  for (const Column& column : batch.columns) known.push_back(column.name);
  Error error(ErrorCode::kInvalidArgument, use, "the data have no feature '{}'",
              name);
  if (const std::string near = nearest(name, known); !near.empty()) {
    error.hint(fmt::format("did you mean '{}'?", near));
  }
  throw error;
}

bool is_sliced(const StatisticsOptions& options, const std::string& name) {
  return std::ranges::find(options.slices, name) != options.slices.end();
}

ByteSpan bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Statistics::Statistics(StatisticsOptions options)
    : options_(std::move(options)) {}

FeatureStatistics& Statistics::feature(const std::string& name) {
  const auto found = places_.find(name);
  if (found != places_.end()) return features_[found->second].second;
  // Rows of JSON may each bring names of their own, without an end.
  if (features_.size() == kMostFeatures) {
    throw Error(ErrorCode::kExhausted, name,
                "more than {} features are no table", kMostFeatures);
  }
  const auto more = options_.more_values.find(name);
  const std::size_t exact = more == options_.more_values.end()
                                ? options_.exact_values
                                : std::max(options_.exact_values, more->second);
  places_[name] = features_.size();
  return features_
      .emplace_back(name, FeatureStatistics(
                              exact, vocabulary_of(name),
                              options_.images.contains(name)
                                  ? std::optional<ImageCounts>(std::in_place)
                                  : std::nullopt))
      .second;
}

std::shared_ptr<const Vocabulary> Statistics::vocabulary_of(
    const std::string& name) const {
  const auto found = options_.vocabularies.find(name);
  if (found == options_.vocabularies.end()) return nullptr;
  return std::make_shared<const Vocabulary>(found->second);
}

std::vector<double> Statistics::weights_of(const ColumnBatch& batch) const {
  std::vector<double> weights;
  if (options_.weight.empty()) return weights;
  const Column& column = column_of(batch, options_.weight, "weight");
  std::size_t next = 0;
  for (const std::int32_t length : column.levels[0]) {
    const ParsedValue value =
        length == 1 ? parse_value(column.values[next]) : ParsedValue();
    const bool is_weight = value.kind != ValueKind::kText &&
                           std::isfinite(value.number) && value.number >= 0;
    if (!is_weight) {
      throw Error(ErrorCode::kDataLoss, options_.weight,
                  "row {} has {}, where a weight of at least 0 is due",
                  rows_ + weights.size() + 1,
                  length == 1 ? fmt::format("'{}'", column.values[next])
                              : fmt::format("{} values", std::max(length, 0)));
    }
    ++next;
    weights.push_back(value.number);
  }
  return weights;
}

void Statistics::add(const ColumnBatch& batch) {
  const std::vector<double> weights = weights_of(batch);
  for (const Column& column : batch.columns) {
    feature(column.name).add(column, weights);
  }
  for (const std::string& slice : options_.slices) {
    add_slices(batch, slice, "slices");
  }
  // The label may be among the slices, and is not counted twice then.
  if (!options_.label.empty() && !is_sliced(options_, options_.label)) {
    add_slices(batch, options_.label, "label");
  }
  rows_ += static_cast<std::uint64_t>(batch.rows);
  for (const double weight : weights) weight_ += weight;
}

void Statistics::add_slices(const ColumnBatch& batch, const std::string& name,
                            std::string_view use) {
  const Column& column = column_of(batch, name, use);
  std::map<std::string, std::vector<std::int64_t>> rows;
  std::size_t next = 0;
  const std::vector<std::int64_t> counts = values_per_row(column);
  for (std::size_t row = 0; row < counts.size(); ++row) {
    const auto count = static_cast<std::size_t>(counts[row]);
    // A row with several values is in the slice of each, but in each once.
    for (std::size_t i = 0; i < std::max<std::size_t>(count, 1); ++i) {
      std::string key = name;
      key += count == 0 ? " is missing" : "=";
      if (count > 0) key += column.values[next + i].substr(0, kMostKeptBytes);
      auto& list = rows[key];
      const auto number = static_cast<std::int64_t>(row);
      if (list.empty() || list.back() != number) list.push_back(number);
    }
    next += count;
  }
  for (const auto& [key, list] : rows) {
    auto found = slices_.find(key);
    if (found == slices_.end()) {
      if (slices_.size() == kMostSlices) {
        throw Error(ErrorCode::kInvalidArgument, use,
                    "'{}' has too many values: more than {} slices", name,
                    kMostSlices)
            .hint("slice by a feature that groups the rows");
      }
      StatisticsOptions options = options_;
      options.slices.clear();
      options.label.clear();
      found = slices_.emplace(key, Statistics(std::move(options))).first;
    }
    found->second.add(select_rows(batch, list));
  }
}

void Statistics::merge(const Statistics& other) {
  // Nothing is changed by nothing, whatever it was to be of.
  if (other.rows_ == 0 && other.features_.empty()) return;
  if (rows_ == 0 && features_.empty()) {
    *this = other;
    return;
  }
  if (options_ != other.options_) {
    throw Error(ErrorCode::kInvalidArgument, "statistics",
                "these were made with other options: weight, slices, label, "
                "vocabularies, images or how many values are counted");
  }
  for (const auto& [name, statistics] : other.features_) {
    feature(name).merge(statistics);
  }
  for (const auto& [key, slice] : other.slices_) {
    const auto [found, is_new] = slices_.emplace(key, slice);
    if (!is_new) found->second.merge(slice);
  }
  rows_ += other.rows_;
  weight_ += other.weight_;
}

void Statistics::write(StateWriter& out) const {
  out.number<std::uint64_t>(options_.exact_values);
  out.number<std::uint64_t>(options_.more_values.size());
  for (const auto& [name, count] : options_.more_values) {
    out.text(name);
    out.number<std::uint64_t>(count);
  }
  out.number<std::uint64_t>(options_.vocabularies.size());
  for (const auto& [name, words] : options_.vocabularies) {
    out.text(name);
    out.number<std::uint64_t>(words.size());
    for (const std::string& word : words) out.text(word);
  }
  out.number<std::uint64_t>(options_.images.size());
  for (const std::string& name : options_.images) out.text(name);
  out.text(options_.weight);
  out.number<std::uint64_t>(options_.slices.size());
  for (const std::string& slice : options_.slices) out.text(slice);
  out.text(options_.label);
  out.number(rows_);
  out.number(weight_);
  out.number<std::uint64_t>(features_.size());
  for (const auto& [name, feature] : features_) {
    out.text(name);
    feature.write(out);
  }
  out.number<std::uint64_t>(slices_.size());
  for (const auto& [key, slice] : slices_) {
    out.text(key);
    slice.write(out);
  }
}

Statistics Statistics::read(StateReader& in) {
  StatisticsOptions options;
  options.exact_values = in.number<std::uint64_t>();
  for (std::size_t left = in.count(16); left > 0; --left) {
    std::string name = in.text();
    options.more_values[std::move(name)] = in.number<std::uint64_t>();
  }
  for (std::size_t left = in.count(16); left > 0; --left) {
    std::vector<std::string>& words = options.vocabularies[in.text()];
    for (std::size_t more = in.count(8); more > 0; --more) {
      words.push_back(in.text());
    }
  }
  for (std::size_t left = in.count(8); left > 0; --left) {
    options.images.insert(in.text());
  }
  options.weight = in.text();
  for (std::size_t left = in.count(8); left > 0; --left) {
    options.slices.push_back(in.text());
  }
  options.label = in.text();
  Statistics statistics(std::move(options));
  statistics.rows_ = in.number<std::uint64_t>();
  statistics.weight_ = in.number<double>();
  for (std::size_t left = in.count(8); left > 0; --left) {
    std::string name = in.text();
    statistics.places_[name] = statistics.features_.size();
    auto vocabulary = statistics.vocabulary_of(name);
    statistics.features_.emplace_back(
        std::move(name), FeatureStatistics::read(in, std::move(vocabulary)));
    if (statistics.features_.back().second.rows() > statistics.rows_) {
      in.fail("a feature is in more rows than there are");
    }
  }
  const std::size_t slices = in.count(8);
  if (slices > kMostSlices) in.fail("they have too many slices");
  for (std::size_t i = 0; i < slices; ++i) {
    std::string key = in.text();
    Statistics slice = read(in);
    // Slices have none of their own, so that this is no deep recursion.
    if (!slice.slices_.empty()) in.fail("a slice is sliced");
    statistics.slices_.emplace(std::move(key), std::move(slice));
  }
  return statistics;
}

std::string Statistics::to_bytes() const {
  StateWriter body;
  write(body);
  const std::string state = body.take();
  StateWriter out;
  out.number(checksum(bytes_of(state)));
  return std::string(kMark) + out.take() + state;
}

Statistics Statistics::from_bytes(std::string_view bytes,
                                  std::string_view where) {
  StateReader in(bytes.substr(std::min(kMark.size(), bytes.size())), where);
  if (!bytes.starts_with(kMark)) in.fail("they do not begin as such");
  const auto sum = in.number<std::uint64_t>();
  const std::string_view state = bytes.substr(kMark.size() + sizeof(sum));
  // Damage is told as such, and not by what it happens to look like below.
  if (checksum(bytes_of(state)) != sum) in.fail("the checksum differs");
  Statistics statistics = read(in);
  if (!in.is_at_end()) in.fail("bytes follow them");
  return statistics;
}

}  // namespace weft::validation
