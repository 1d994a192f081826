#include "weft/data/column_fit.h"

#include <cmath>
#include <utility>

#include "weft/data/csv.h"

namespace weft {
namespace {

// More are no categories, but names of things that never come again.
constexpr std::size_t kMostCategories = 65536;

bool is_number(std::string_view field) {
  double ignored = 0;
  return parse_number(field, ignored);
}

Error all_missing(std::string_view name, const std::string& where) {
  return Error(ErrorCode::kDataLoss, where,
               "{}: all values are missing in the training part",
               call_column(name))
      .hint("name it in data.ignore");
}

}  // namespace

std::string call_column(std::string_view name) {
  return is_number(name) ? fmt::format("column {}", name)
                         : fmt::format("column '{}'", name);
}

Error no_number(std::string_view name, std::string_view field,
                std::string_view where) {
  return Error(ErrorCode::kDataLoss, where, "{}: '{}' is not a number",
               call_column(name), shown(field));
}

ColumnFit::ColumnFit(TableColumn column, std::size_t place)
    : column_(std::move(column)), place_(place) {}

void ColumnFit::look(const Records& records, std::size_t row) {
  const bool may_be_names = column_.is_by_content || column_.is_category;
  // A missing value says nothing about the kind of its column.
  if (records.is_missing(row, place_)) {
    column_.has_indicator = true;
    return;
  }
  ++known_;
  if (column_.is_by_content || !column_.is_category) {
    double ignored = 0;
    if (records.number(row, place_, ignored)) {
      ++numbers_;
      // With a number among them they are no names, which need not be kept.
      if (column_.is_by_content) return names_.clear();
    } else if (other_place_.empty()) {
      NumberText memory;
      other_ = records.text(row, place_, memory);
      other_place_ = records.place(row);
    }
  }
  if (!may_be_names || numbers_ > 0 || names_.size() > kMostCategories) return;
  NumberText memory;
  const std::string_view field = records.text(row, place_, memory);
  if (names_.find(field) != names_.end()) return;
  check_name(field, records.place(row));
  names_.emplace(field);
}

void ColumnFit::decide(const std::string& where) {
  const std::string& name = column_.name;
  if (column_.is_by_content) {
    if (known_ == 0) throw all_missing(name, where);
    column_.is_category = numbers_ == 0;
    if (numbers_ > 0 && numbers_ < known_) {
      throw no_number(name, other_, other_place_)
          .detail(fmt::format("{} of {} values are", numbers_, known_))
          .hint("if it names categories, name it in data.categories");
    }
  }
  if (!column_.is_category) {
    if (numbers_ < known_) throw no_number(name, other_, other_place_);
    // Nothing would say what to put in place of a missing value.
    if (known_ == 0) throw all_missing(name, where);
    scale_ = ScaleFit(numbers_);
    return;
  }
  if (column_.has_indicator) names_.emplace(kMissingCategory);
  if (names_.size() > kMostCategories) {
    throw Error(ErrorCode::kDataLoss, where,
                "{}: more than the {} different names that can be categories",
                call_column(name), kMostCategories)
        .hint("name it in data.ignore");
  }
  // Only numbers say beside their value that it is missing.
  column_.has_indicator = false;
  column_.categories.assign(names_.begin(), names_.end());
}

bool ColumnFit::known_number(const Records& records, std::size_t row,
                             double& value) const {
  return !records.is_missing(row, place_) && records.number(row, place_, value);
}

void ColumnFit::add_to_mean(const Records& records, std::size_t row) {
  double value = 0;
  if (known_number(records, row, value)) scale_.add_to_mean(value);
}

void ColumnFit::add_to_deviation(const Records& records, std::size_t row) {
  double value = 0;
  if (known_number(records, row, value)) scale_.add_to_deviation(value);
}

TableColumn ColumnFit::finish(bool standardizes, const std::string& where) && {
  if (column_.is_category) return std::move(column_);
  const NumberScale scale = scale_.scale();
  column_.mean = scale.mean;
  // Squares of numbers beyond 1e154 pass the largest double.
  if (!std::isfinite(scale.std) || !std::isfinite(scale.mean)) {
    throw Error(ErrorCode::kDataLoss, where,
                "{}: its numbers are too large to take a mean of",
                call_column(column_.name));
  }
  if (standardizes) column_.scale = scale;
  return std::move(column_);
}

}  // namespace weft
