#include "weft/data/table_columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "weft/data/csv.h"

namespace weft {
namespace {

// More are no categories, but names of things that never come again.
constexpr std::size_t kMostCategories = 65536;
constexpr std::string_view kMissingCategory = "?";

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_number(std::string_view field) {
  double ignored = 0;
  return parse_number(field, ignored);
}

// How messages call a column: as the file does, or by its position.
std::string call(std::string_view name) {
  return is_number(name) ? fmt::format("column {}", name)
                         : fmt::format("column '{}'", name);
}

Error no_number(std::string_view name, std::string_view field,
                std::string_view where) {
  return Error(ErrorCode::kDataLoss, std::string(where),
               "{}: '{}' is not a number", call(name), shown(field));
}

// A number if all known values are; some alone are a mistake in the file more
// often than they are names.
bool is_category_by_content(const Records& records,
                            std::span<const std::size_t> rows,
                            std::size_t place) {
  std::size_t numbers = 0;
  std::size_t known = 0;
  std::optional<std::size_t> first_other;
  for (const std::size_t row : rows) {
    const std::string_view field = records.field(row, place);
    // A missing value says nothing about the kind of its column.
    if (is_missing(field)) continue;
    ++known;
    if (is_number(field)) {
      ++numbers;
    } else if (!first_other) {
      first_other = row;
    }
  }
  const std::string& name = records.names()[place];
  if (known == 0) {
    throw Error(ErrorCode::kDataLoss, records.where(),
                "{}: all values are missing in the training part", call(name))
        .hint("name it in data.ignore");
  }
  if (numbers == known) return false;
  if (numbers == 0) return true;
  throw no_number(name, records.field(*first_other, place),
                  records.place(*first_other))
      .detail(fmt::format("{} of {} values are", numbers, known))
      .hint("if it names categories, name it in data.categories");
}

void fit_number(const Records& records, std::span<const std::size_t> rows,
                std::size_t place, bool standardizes, TableColumn& column) {
  // Mean and deviation are those of the training rows: a test part must not
  // have a say in what the model sees.
  std::vector<double> values;
  for (const std::size_t row : rows) {
    const std::string_view field = records.field(row, place);
    double value = 0;
    if (is_missing(field)) {
      column.has_indicator = true;
    } else if (parse_number(field, value)) {
      values.push_back(value);
    } else {
      throw no_number(column.name, field, records.place(row));
    }
  }
  // Nothing would say what to put in place of a missing value.
  if (values.empty()) {
    throw Error(ErrorCode::kDataLoss, records.where(),
                "{}: all values are missing in the training part",
                call(column.name))
        .hint("name it in data.ignore");
  }
  const NumberScale scale = standard_scale(values);
  column.mean = scale.mean;
  // Squares of numbers beyond 1e154 pass the largest double.
  if (!std::isfinite(scale.std) || !std::isfinite(scale.mean)) {
    throw Error(ErrorCode::kDataLoss, records.where(),
                "{}: its numbers are too large to take a mean of",
                call(column.name));
  }
  if (standardizes) column.scale = scale;
}

void fit_category(const Records& records, std::span<const std::size_t> rows,
                  std::size_t place, TableColumn& column) {
  // The set is sorted, so that categories have the same numbers whatever the
  // order of rows.
  std::set<std::string_view> found;
  for (const std::size_t row : rows) {
    const std::string_view field = records.field(row, place);
    found.insert(is_missing(field) ? kMissingCategory : field);
  }
  if (found.size() > kMostCategories) {
    throw Error(ErrorCode::kDataLoss, records.where(),
                "{}: {} different names are more than the {} that can be "
                "categories",
                call(column.name), found.size(), kMostCategories)
        .hint("name it in data.ignore");
  }
  column.categories.assign(found.begin(), found.end());
}

// The number of a category, or -1 for one that the training part has not.
std::int64_t category_of(const TableColumn& column, std::string_view field,
                         std::string_view where) {
  if (is_missing(field)) field = kMissingCategory;
  // fit_category() has left them in order.
  const auto found = std::ranges::lower_bound(column.categories, field);
  if (found != column.categories.end() && *found == field) {
    return found - column.categories.begin();
  }
  // Names where there were only names may be new; a number is another kind.
  if (column.is_by_content && is_number(field)) {
    throw Error(ErrorCode::kDataLoss, std::string(where),
                "{}: {} is a number, where the training part has names",
                call(column.name), shown(field))
        .hint("name the column in data.categories");
  }
  return -1;
}

}  // namespace

TableColumns::TableColumns(const Records& records,
                           std::span<const std::size_t> training,
                           const TableOptions& options,
                           const std::vector<std::string>& told) {
  for (const auto* named :
       {&options.numbers, &options.categories, &options.ignore}) {
    // column() throws for a name that is none, with one that is near.
    for (const std::string& name : *named) records.column(name);
  }
  for (const std::string& name : options.numbers) {
    if (!contains(options.categories, name)) continue;
    throw Error(ErrorCode::kInvalidArgument, "data",
                "column '{}' is named as numbers and as categories", name);
  }
  for (std::size_t place = 0; place < records.names().size(); ++place) {
    TableColumn column{.name = records.names()[place]};
    if (contains(told, column.name) || contains(options.ignore, column.name)) {
      others_.push_back(column.name);
      continue;
    }
    column.is_by_content = !contains(options.numbers, column.name) &&
                           !contains(options.categories, column.name);
    column.is_category = column.is_by_content
                             ? is_category_by_content(records, training, place)
                             : contains(options.categories, column.name);
    if (column.is_category) {
      fit_category(records, training, place, column);
    } else {
      fit_number(records, training, place, options.standardize, column);
    }
    columns_.push_back(std::move(column));
    places_.push_back(place);
  }
  if (columns_.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "data.ignore",
                "of {} no column is left to predict from", records.where());
  }
  count();
}

TableColumns::TableColumns(std::vector<TableColumn> columns,
                           std::vector<std::string> others)
    : columns_(std::move(columns)), others_(std::move(others)) {
  places_.resize(columns_.size());
  std::iota(places_.begin(), places_.end(), std::size_t{0});
  count();
}

void TableColumns::count() {
  for (const TableColumn& column : columns_) {
    if (column.is_category) continue;
    ++numbers_;
    if (column.has_indicator) ++indicators_;
  }
  // A category is one number here, its place among the others; models make of
  // it what they like.
  width_ = static_cast<std::int64_t>(columns_.size() + indicators_);
}

std::vector<std::int64_t> TableColumns::category_counts() const {
  std::vector<std::int64_t> counts;
  for (const TableColumn& column : columns_) {
    if (!column.is_category) continue;
    counts.push_back(static_cast<std::int64_t>(column.categories.size()));
  }
  return counts;
}

std::vector<std::size_t> TableColumns::places_in(const Records& records) const {
  const std::size_t all = columns_.size() + others_.size();
  if (records.names().size() != all) {
    throw Error(ErrorCode::kDataLoss, records.where(),
                "{} columns, but the training part has {}",
                records.names().size(), all);
  }
  // Without a header, columns are told by where they stand; with one, they may
  // stand in another order.
  if (!records.has_header()) return places_;
  std::vector<std::size_t> places;
  for (const TableColumn& column : columns_) {
    places.push_back(records.column(column.name));
  }
  return places;
}

void TableColumns::encode(std::span<const std::string_view> fields, float* row,
                          std::string_view where) const {
  float* number = row;
  float* indicator = row + numbers_;
  float* category = indicator + indicators_;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const TableColumn& column = columns_[i];
    if (column.is_category) {
      *category++ = static_cast<float>(category_of(column, fields[i], where));
      continue;
    }
    const bool is_known = !is_missing(fields[i]);
    // The mean is the value that says least: standardized, it is 0.
    double value = column.mean;
    if (is_known && !parse_number(fields[i], value)) {
      throw no_number(column.name, fields[i], where)
          .detail("it is a column of numbers in the training part");
    }
    // That a value is missing may itself tell something.
    if (column.has_indicator) *indicator++ = is_known ? 0.0f : 1.0f;
    *number =
        static_cast<float>((value - column.scale.mean) / column.scale.std);
    // A value that is no f32 would become infinity, and every loss of its batch
    // NaN.
    if (!std::isfinite(*number++)) {
      throw Error(ErrorCode::kDataLoss, std::string(where),
                  "{}: {} is too large beside the values of the training part",
                  call(column.name), fields[i]);
    }
  }
}

}  // namespace weft
