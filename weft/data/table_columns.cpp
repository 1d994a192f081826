#include "weft/data/table_columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/data/column_fit.h"
#include "weft/data/csv.h"

namespace weft {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The fields of a row, which come as texts or stand in records.
struct TextFields {
  std::span<const std::string_view> fields;
  std::string_view place;

  bool is_missing(std::size_t i) const { return weft::is_missing(fields[i]); }
  bool number(std::size_t i, double& value) const {
    return parse_number(fields[i], value);
  }
  std::string_view text(std::size_t i, NumberText&) const { return fields[i]; }
  std::string where() const { return std::string(place); }
};

struct RecordFields {
  const Records& records;
  std::size_t record;
  std::span<const std::size_t> places;

  bool is_missing(std::size_t i) const {
    return records.is_missing(record, places[i]);
  }
  bool number(std::size_t i, double& value) const {
    return records.number(record, places[i], value);
  }
  std::string_view text(std::size_t i, NumberText& memory) const {
    return records.text(record, places[i], memory);
  }
  std::string where() const { return records.place(record); }
};

constexpr std::int64_t kNewCategory = -1;
constexpr std::int64_t kOtherKind = -2;

// The number of a category; names where there were only names may be new, but a
// number is another kind.
std::int64_t category_of(const TableColumn& column, std::string_view field) {
  if (is_missing(field)) field = kMissingCategory;
  // ColumnFit has left them in order.
  const auto found = std::ranges::lower_bound(column.categories, field);
  if (found != column.categories.end() && *found == field) {
    return found - column.categories.begin();
  }
  double number = 0;
  return column.is_by_content && parse_number(field, number) ? kOtherKind
                                                             : kNewCategory;
}

Error other_kind(const TableColumn& column, std::string_view field,
                 const std::string& where) {
  return Error(ErrorCode::kDataLoss, where,
               "{}: {} is a number, where the training part has names",
               call_column(column.name), shown(field))
      .hint("name the column in data.categories");
}

}  // namespace

TableColumns::TableColumns(const RecordPieces& records, RowFilter training,
                           const TableOptions& options,
                           const std::vector<std::string>& told) {
  for (const auto* named :
       {&options.numbers, &options.categories, &options.ignore}) {
    // It throws for a name that is none, with one that is near.
    for (const std::string& name : *named) {
      column_in(records.names(), name, records.where());
    }
  }
  for (const std::string& name : options.numbers) {
    if (!contains(options.categories, name)) continue;
    throw Error(ErrorCode::kInvalidArgument, "data",
                "column '{}' is named as numbers and as categories", name);
  }
  std::vector<ColumnFit> fits;
  for (std::size_t place = 0; place < records.names().size(); ++place) {
    TableColumn column{.name = records.names()[place]};
    if (contains(told, column.name) || contains(options.ignore, column.name)) {
      others_.push_back(column.name);
      continue;
    }
    column.is_category = contains(options.categories, column.name);
    column.is_by_content =
        !column.is_category && !contains(options.numbers, column.name);
    fits.emplace_back(std::move(column), place);
    places_.push_back(place);
  }
  if (fits.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "data.ignore",
                "of {} no column is left to predict from", records.where());
  }
  fit(records, training, options, fits);
  count();
}

void TableColumns::fit(const RecordPieces& records, RowFilter training,
                       const TableOptions& options,
                       std::vector<ColumnFit>& fits) {
  // Each time, only the columns that it is about are read.
  std::vector<ColumnFit*> shown;
  for (ColumnFit& fit : fits) shown.push_back(&fit);
  const auto show = [&](void (ColumnFit::*take)(const Records&, std::size_t)) {
    std::vector<std::size_t> places;
    for (const ColumnFit* fit : shown) places.push_back(fit->place());
    records.each(training, places, [&](const Records& piece, std::size_t row) {
      for (ColumnFit* fit : shown) (fit->*take)(piece, row);
    });
  };
  show(&ColumnFit::look);
  for (ColumnFit& fit : fits) fit.decide(records.where());
  std::erase_if(shown,
                [](const ColumnFit* fit) { return fit->column().is_category; });
  // A table of categories alone is read once.
  if (!shown.empty()) {
    show(&ColumnFit::add_to_mean);
    show(&ColumnFit::add_to_deviation);
  }
  for (ColumnFit& fit : fits) {
    columns_.push_back(
        std::move(fit).finish(options.standardize, records.where()));
  }
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

template <class Fields>
void TableColumns::encode_fields(const Fields& fields, float* row) const {
  float* number = row;
  float* indicator = row + numbers_;
  float* category = indicator + indicators_;
  NumberText memory;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const TableColumn& column = columns_[i];
    if (column.is_category) {
      const std::int64_t found = category_of(column, fields.text(i, memory));
      if (found == kOtherKind) {
        throw other_kind(column, fields.text(i, memory), fields.where());
      }
      *category++ = static_cast<float>(found);
      continue;
    }
    const bool is_known = !fields.is_missing(i);
    // The mean is the value that says least: standardized, it is 0.
    double value = column.mean;
    if (is_known && !fields.number(i, value)) {
      throw no_number(column.name, fields.text(i, memory), fields.where())
          .detail("it is a column of numbers in the training part");
    }
    // That a value is missing may itself tell something.
    if (column.has_indicator) *indicator++ = is_known ? 0.0f : 1.0f;
    *number =
        static_cast<float>((value - column.scale.mean) / column.scale.std);
    // A value that is no f32 would become infinity, and every loss of its batch
    // NaN.
    if (!std::isfinite(*number++)) {
      throw Error(ErrorCode::kDataLoss, fields.where(),
                  "{}: {} is too large beside the values of the training part",
                  call_column(column.name), fields.text(i, memory));
    }
  }
}

void TableColumns::encode(std::span<const std::string_view> fields, float* row,
                          std::string_view where) const {
  encode_fields(TextFields{fields, where}, row);
}

void TableColumns::encode(const Records& records, std::size_t record,
                          std::span<const std::size_t> places,
                          float* row) const {
  encode_fields(RecordFields{records, record, places}, row);
}

}  // namespace weft
