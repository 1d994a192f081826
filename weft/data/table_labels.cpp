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

// What labels look like, one after the other.
class LabelLook {
 public:
  void add(std::string_view text) {
    ++count_;
    double value = 0;
    const bool is_number = parse_number(text, value);
    are_numbers_ = are_numbers_ && is_number;
    // The comparisons are false for NaN, which so is no class.
    are_classes_ = are_classes_ && is_number && value >= 0 &&
                   value == std::floor(value) && value < kMostNumberedClasses;
    largest_ = std::max(largest_, value);
  }

  bool are_numbers() const { return are_numbers_; }
  // The largest label if all are 0, 1, 2 …, else -1.
  double largest_class() const {
    // Far more classes than records are measurements too. The slack is for
    // small files, of which not all classes need occur.
    const double most = 2.0 * count_ + 10;
    return !are_classes_ || largest_ > most ? -1 : largest_;
  }

 private:
  bool are_numbers_ = true;
  bool are_classes_ = true;
  double largest_ = 0;
  double count_ = 0;
};

// Numbers of classes by what a label says.
class ClassNumbers {
 public:
  ClassNumbers(const std::vector<std::string>& classes, bool are_numbered)
      : count_(static_cast<double>(classes.size())),
        are_numbered_(are_numbered) {
    if (are_numbered) return;
    // A class has the number of its place. A search for each row would take
    // long with thousands of classes.
    for (const std::string& name : classes) {
      places_.emplace(name, static_cast<std::int32_t>(places_.size()));
    }
  }

  // -1 for a label that is none of the classes.
  std::int32_t of(std::string_view label) const {
    if (are_numbered_) {
      // "1", "+1", "01" and "1.0" are one class, as they are one number.
      double value = 0;
      const bool is_class = parse_number(label, value) && value >= 0 &&
                            value < count_ && value == std::floor(value);
      return is_class ? static_cast<std::int32_t>(value) : -1;
    }
    const auto found = places_.find(label);
    return found == places_.end() ? -1 : found->second;
  }

 private:
  double count_;
  bool are_numbered_;
  std::unordered_map<std::string_view, std::int32_t> places_;
};

}  // namespace

TableLabels::TableLabels(const RecordPieces& records, RowFilter training,
                         const TableOptions& options)
    : drops_dot_(options.drops_label_dot) {
  choose_columns(records.names(), options);
  for (const std::string& name : columns_) {
    places_.push_back(column_in(records.names(), name, records.where()));
  }
  if (kind_ == Kind::kSeveral) {
    fit_several(records);
  } else {
    fit_one(records, training, options);
  }
}

void TableLabels::fit_several(const RecordPieces& records) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    // All records are looked at, as a value may occur in the test part alone.
    const std::vector<std::string> found = distinct(records, places_[i]);
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

void TableLabels::choose_columns(const std::vector<std::string>& names,
                                 const TableOptions& options) {
  for (const std::string& label : options.label) {
    // A column may have the sign in its name.
    const bool is_column = std::ranges::find(names, label) != names.end();
    const std::size_t sign = is_column ? label.npos : label.find('=');
    columns_.push_back(label.substr(0, sign));
    positive_.push_back(sign == label.npos ? "" : label.substr(sign + 1));
    if (sign != label.npos || options.label.size() > 1) kind_ = Kind::kSeveral;
  }
  if (!columns_.empty()) return;
  // Without being told, the label is a column of a usual name, else the last
  // one, as most tables have it.
  for (const char* name : {"label", "class", "target", "y"}) {
    if (std::ranges::find(names, name) == names.end()) continue;
    columns_ = {name};
    return;
  }
  columns_ = {names.back()};
}

std::string_view TableLabels::text(const Records& records, std::size_t row,
                                   std::size_t place,
                                   NumberText& memory) const {
  std::string_view text = records.text(row, place, memory);
  if (is_missing(text)) {
    throw Error(ErrorCode::kDataLoss, records.place(row),
                "the label '{}' is missing", records.names()[place])
        .hint("leave rows out of which nothing can be told");
  }
  if (drops_dot_ && text.ends_with('.')) text.remove_suffix(1);
  return text;
}

float TableLabels::number(const Records& records, std::size_t row,
                          std::size_t place) const {
  double value = 0;
  NumberText memory;
  if (!records.number(row, place, value) &&
      // It throws for what is missing, and a dot that it drops may leave a
      // number.
      !parse_number(text(records, row, place, memory), value)) {
    throw Error(ErrorCode::kDataLoss, records.place(row),
                "label '{}' is not a number, where the training part's are",
                shown(text(records, row, place, memory)));
  }
  const auto number = static_cast<float>(value);
  if (!std::isfinite(number)) {
    throw Error(ErrorCode::kDataLoss, records.place(row),
                "label {} is too large", text(records, row, place, memory));
  }
  return number;
}

std::vector<std::string> TableLabels::distinct(const RecordPieces& records,
                                               std::size_t place) const {
  std::set<std::string, std::less<>> found;
  records.each(nullptr, places_, [&](const Records& piece, std::size_t row) {
    NumberText memory;
    const std::string_view label = text(piece, row, place, memory);
    if (found.find(label) != found.end()) return;
    check_name(label, piece.place(row));
    found.emplace(label);
  });
  return {found.begin(), found.end()};
}

// Small whole numbers are classes, other numbers are targets, and all else is
// names of classes, unless the options say.
void TableLabels::fit_one(const RecordPieces& records, RowFilter training,
                          const TableOptions& options) {
  const auto is_named = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, columns_[0]) != names.end();
  };
  // All rows are looked at, and not only those to train on: a class that occurs
  // in the test part alone must have a number, too.
  LabelLook look;
  records.each(nullptr, places_, [&](const Records& piece, std::size_t row) {
    NumberText memory;
    look.add(text(piece, row, places_[0], memory));
  });
  const double largest = look.largest_class();
  if (is_named(options.categories) ||
      (!is_named(options.numbers) && !look.are_numbers())) {
    classes_ = distinct(records, places_[0]);
  } else if (!is_named(options.numbers) && largest >= 0) {
    are_numbered_ = true;
    for (int label = 0; label <= static_cast<int>(largest); ++label) {
      classes_.push_back(std::to_string(label));
    }
  } else {
    kind_ = Kind::kNumber;
    fit_scale(records, training);
  }
}

// Targets are scaled by what is trained on, as columns are.
void TableLabels::fit_scale(const RecordPieces& records, RowFilter training) {
  const auto told = [&](const Records& piece, std::size_t row) {
    return number(piece, row, places_[0]);
  };
  std::size_t count = 0;
  records.each(nullptr, places_, [&](const Records& piece, std::size_t row) {
    told(piece, row);  // throws for what is none, also where it is not trained
  });
  records.each(training, places_,
               [&](const Records&, std::size_t) { ++count; });
  ScaleFit fit(count);
  records.each(training, places_, [&](const Records& piece, std::size_t row) {
    fit.add_to_mean(told(piece, row));
  });
  records.each(training, places_, [&](const Records& piece, std::size_t row) {
    fit.add_to_deviation(told(piece, row));
  });
  scale_ = fit.scale();
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
  const ClassNumbers numbers(classes_, are_numbered_);
  for (std::size_t row = 0; row < records.rows(); ++row) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (kind_ == Kind::kNumber) {
        values.numbers.push_back(number(records, row, places[i]));
        continue;
      }
      NumberText memory;
      const std::string_view label = text(records, row, places[i], memory);
      if (kind_ == Kind::kSeveral) {
        values.numbers.push_back(label == positive_[i] ? 1.0f : 0.0f);
      } else if (const std::int32_t number = numbers.of(label); number >= 0) {
        values.classes.push_back(number);
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
