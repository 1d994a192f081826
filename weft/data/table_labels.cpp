#include "weft/data/table_labels.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "weft/data/csv.h"

namespace weft {
namespace {

// More classes than this are measurements, not classes.
constexpr double kMostNumberedClasses = 65536;

bool are_numbers(const std::vector<std::string_view>& texts) {
  double ignored = 0;
  return std::ranges::all_of(texts, [&](std::string_view text) {
    return parse_number(text, ignored);
  });
}

float number_of(std::string_view text, const std::string& where) {
  double value = 0;
  if (!parse_number(text, value)) {
    throw Error(ErrorCode::kDataLoss, where,
                "label '{}' is not a number, where the training part's are",
                shown(text));
  }
  const auto number = static_cast<float>(value);
  if (!std::isfinite(number)) {
    throw Error(ErrorCode::kDataLoss, where, "label {} is too large", text);
  }
  return number;
}

// The largest label if all are 0, 1, 2 …, else -1.
double largest_class(const std::vector<std::string_view>& texts) {
  double largest = 0;
  for (const std::string_view text : texts) {
    double value = 0;
    // The comparisons are false for NaN, which so is no class.
    const bool is_class = parse_number(text, value) && value >= 0 &&
                          value == std::floor(value) &&
                          value < kMostNumberedClasses;
    if (!is_class) return -1;
    largest = std::max(largest, value);
  }
  // Far more classes than records are measurements too. The slack is for small
  // files, of which not all classes need occur.
  const double most = 2.0 * static_cast<double>(texts.size()) + 10;
  return largest > most ? -1 : largest;
}

std::vector<std::string> distinct(const std::vector<std::string_view>& texts) {
  const std::set<std::string_view> found(texts.begin(), texts.end());
  return {found.begin(), found.end()};
}

}  // namespace

TableLabels::TableLabels(const Records& records,
                         std::span<const std::size_t> training,
                         const TableOptions& options)
    : drops_dot_(options.drops_label_dot) {
  choose_columns(records, options);
  for (const std::string& name : columns_) {
    places_.push_back(records.column(name));
  }
  if (kind_ == Kind::kSeveral) {
    fit_several(records);
  } else {
    fit_one(records, training, options);
  }
}

void TableLabels::fit_several(const Records& records) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    // All records are looked at, as a value may occur in the test part alone.
    const std::vector<std::string> found = distinct(texts(records, places_[i]));
    if (positive_[i].empty()) {
      // The one of two values that sorts last is told: "yes" of "no" and
      // "yes", 1 of 0 and 1.
      if (found.size() != 2) {
        throw Error(ErrorCode::kInvalidArgument, "data.label",
                    "column '{}' has {} different values, so it is not said "
                    "which of them is told",
                    columns_[i], found.size())
            .hint(fmt::format("\"{}={}\"", columns_[i], found.front()));
      }
      positive_[i] = found.back();
    } else if (std::ranges::find(found, positive_[i]) == found.end()) {
      const std::string near = nearest(positive_[i], found);
      throw Error(
          ErrorCode::kInvalidArgument, "data.label",
          "column '{}' has no '{}'{}", columns_[i], positive_[i],
          near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
    }
    classes_.push_back(fmt::format("{}={}", columns_[i], positive_[i]));
  }
}

void TableLabels::choose_columns(const Records& records,
                                 const TableOptions& options) {
  for (const std::string& label : options.label) {
    // A column may have the sign in its name.
    const bool is_column =
        std::ranges::find(records.names(), label) != records.names().end();
    const std::size_t sign = is_column ? label.npos : label.find('=');
    columns_.push_back(label.substr(0, sign));
    positive_.push_back(sign == label.npos ? "" : label.substr(sign + 1));
    if (sign != label.npos || options.label.size() > 1) kind_ = Kind::kSeveral;
  }
  if (!columns_.empty()) return;
  // Without being told, the label is a column of a usual name, else the last
  // one, as most tables have it.
  for (const char* name : {"label", "class", "target", "y"}) {
    if (std::ranges::find(records.names(), name) == records.names().end()) {
      continue;
    }
    columns_ = {name};
    return;
  }
  columns_ = {records.names().back()};
}

std::string_view TableLabels::text(const Records& records, std::size_t row,
                                   std::size_t place) const {
  std::string_view text = records.field(row, place);
  if (is_missing(text)) {
    throw Error(ErrorCode::kDataLoss, records.place(row),
                "the label '{}' is missing", records.names()[place])
        .hint("leave rows out of which nothing can be told");
  }
  if (drops_dot_ && text.ends_with('.')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> TableLabels::texts(const Records& records,
                                                 std::size_t place) const {
  std::vector<std::string_view> found;
  for (std::size_t row = 0; row < records.rows(); ++row) {
    found.push_back(text(records, row, place));
  }
  return found;
}

// Small whole numbers are classes, other numbers are targets, and all else is
// names of classes, unless the options say.
void TableLabels::fit_one(const Records& records,
                          std::span<const std::size_t> training,
                          const TableOptions& options) {
  // All rows are looked at, and not only those to train on: a class that occurs
  // in the test part alone must have a number, too.
  const std::vector<std::string_view> found = texts(records, places_[0]);
  const auto is_named = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, columns_[0]) != names.end();
  };
  const double largest = largest_class(found);
  if (is_named(options.categories) ||
      (!is_named(options.numbers) && !are_numbers(found))) {
    classes_ = distinct(found);
  } else if (!is_named(options.numbers) && largest >= 0) {
    for (int label = 0; label <= static_cast<int>(largest); ++label) {
      classes_.push_back(std::to_string(label));
    }
  } else {
    kind_ = Kind::kNumber;
    std::vector<double> values;
    const std::vector<float> numbers = read(records).numbers;
    // Targets are scaled by what is trained on, as columns are.
    for (const std::size_t row : training) values.push_back(numbers[row]);
    scale_ = standard_scale(values);
  }
}

TensorType TableLabels::type() const {
  if (kind_ == Kind::kClass) return {DType::kI32, {}};
  if (kind_ == Kind::kNumber) return {DType::kF32, {}};
  return {DType::kF32, {static_cast<Dim>(classes_.size())}};
}

TableLabels::Values TableLabels::read(const Records& records) const {
  Values values;
  std::vector<std::size_t> places = places_;
  // A header may give the columns of a test part in another order.
  for (std::size_t i = 0; records.has_header() && i < places.size(); ++i) {
    places[i] = records.column(columns_[i]);
  }
  // A search for each row would take long with thousands of classes.
  std::unordered_map<std::string_view, std::int32_t> numbers;
  if (kind_ == Kind::kClass) {
    // A class has the number of its place.
    for (const std::string& name : classes_) {
      numbers.emplace(name, static_cast<std::int32_t>(numbers.size()));
    }
  }
  for (std::size_t row = 0; row < records.rows(); ++row) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::string_view label = text(records, row, places[i]);
      if (kind_ == Kind::kSeveral) {
        values.numbers.push_back(label == positive_[i] ? 1.0f : 0.0f);
      } else if (kind_ == Kind::kNumber) {
        values.numbers.push_back(number_of(label, records.place(row)));
      } else if (const auto found = numbers.find(label);
                 found != numbers.end()) {
        values.classes.push_back(found->second);
      } else {
        throw Error(ErrorCode::kDataLoss, records.place(row),
                    "label '{}' does not occur in the training part",
                    shown(label));
      }
    }
  }
  return values;
}

}  // namespace weft
