#include "weft/data/table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "weft/data/csv.h"

namespace weft {
namespace {

// More classes than this are measurements, not classes.
constexpr double kMostNumberedClasses = 65536;

class Table final : public Dataset {
 public:
  Table(std::string_view text, std::string_view where, const Dataset* train) {
    name_ = where;
    read_records(text, std::string(where));
    if (label_texts_.empty()) {
      throw Error(ErrorCode::kDataLoss, where, "no records");
    }
    size_ = static_cast<std::int64_t>(label_texts_.size());
    // A label of the test part means what it means in the training part.
    if (train != nullptr) {
      label_as(*train, where);
      // Small whole numbers are classes, other numbers are targets, and all
      // else is names of classes.
    } else if (!label_by_number() && !label_by_value()) {
      collect_names();
      label_by_name(where);
    }
    const DType label = targets_.empty() ? DType::kI32 : DType::kF32;
    features_ = {{"features", {DType::kF32, {columns_}}},
                 {"label", {label, {}}}};
    // The texts are of no more use, and may be many.
    label_texts_ = {};
    lines_ = {};
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    auto* features = batch[0].as<float>();
    const auto columns = static_cast<std::size_t>(columns_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[i]);
      std::memcpy(features + i * columns, values_.data() + row * columns,
                  columns * sizeof(float));
      if (targets_.empty()) {
        batch[1].as<std::int32_t>()[i] = labels_[row];
      } else {
        batch[1].as<float>()[i] = targets_[row];
      }
    }
  }

 private:
  void read_records(std::string_view text, const std::string& where) {
    CsvReader reader(text, where);
    std::vector<std::string> fields;
    std::vector<std::string> header;
    std::size_t label = 0;
    bool is_first = true;
    while (reader.next(fields)) {
      if (is_first) {
        is_first = false;
        if (fields.size() < 2) {
          throw Error(ErrorCode::kDataLoss,
                      fmt::format("{}:{}", where, reader.line()),
                      std::string("one column only: a label and nothing to "
                                  "predict it from"));
        }
        columns_ = static_cast<std::int64_t>(fields.size()) - 1;
        label = fields.size() - 1;
        if (is_header(fields)) {
          header = fields;
          label = label_column(header);
          continue;
        }
      }
      add_record(fields, label, header,
                 fmt::format("{}:{}", where, reader.line()));
      lines_.push_back(reader.line());
    }
  }

  static bool is_header(const std::vector<std::string>& fields) {
    double ignored = 0;
    // A record without any number can only be a header.
    return std::none_of(fields.begin(), fields.end(), [&](const auto& field) {
      return parse_number(field, ignored);
    });
  }

  static std::size_t label_column(const std::vector<std::string>& header) {
    // A header may name the label; without one it is the last column.
    for (const char* name : {"label", "class", "target", "y"}) {
      const auto found = std::find(header.begin(), header.end(), name);
      if (found != header.end()) {
        return static_cast<std::size_t>(found - header.begin());
      }
    }
    return header.size() - 1;
  }

  void add_record(const std::vector<std::string>& fields, std::size_t label,
                  const std::vector<std::string>& header,
                  const std::string& where) {
    for (std::size_t column = 0; column < fields.size(); ++column) {
      if (column == label) continue;
      double value = 0;
      if (!parse_number(fields[column], value)) {
        // The message names the column as the file does, or counts from 1.
        throw Error(ErrorCode::kDataLoss, where,
                    "column {}: '{}' is not a number",
                    header.empty() ? std::to_string(column + 1)
                                   : "'" + header[column] + "'",
                    fields[column].substr(0, 40))
            .hint("write numbers in every column but the label's");
      }
      values_.push_back(static_cast<float>(value));
    }
    label_texts_.push_back(fields[label]);
  }

  void label_as(const Dataset& train, std::string_view where) {
    if (train.features()[0].type.shape != Shape{columns_}) {
      throw Error(ErrorCode::kDataLoss, where,
                  "{} columns, but the training part has {}", columns_ + 1,
                  train.features()[0].type.shape[0] + 1);
    }
    classes_ = train.classes();
    if (!classes_.empty()) {
      label_by_name(where);
    } else if (!label_by_value()) {
      throw Error(ErrorCode::kDataLoss, where,
                  "labels are not all numbers, but the training part's are");
    }
  }

  // Labels 0, 1, 2 …: false if one is something else.
  bool label_by_number() {
    double largest = 0;
    for (const auto& text : label_texts_) {
      double value = 0;
      const bool is_class = parse_number(text, value) && value >= 0 &&
                            value == std::floor(value) &&
                            value < kMostNumberedClasses;
      if (!is_class) return false;
      largest = std::max(largest, value);
      labels_.push_back(static_cast<std::int32_t>(value));
    }
    // Far more classes than records are measurements too. The slack is for
    // small files, of which not all classes need occur.
    if (largest > 2.0 * static_cast<double>(label_texts_.size()) + 10) {
      return false;
    }
    for (int label = 0; label <= static_cast<int>(largest); ++label) {
      classes_.push_back(std::to_string(label));
    }
    return true;
  }

  bool label_by_value() {
    // An attempt to read the labels as classes may have left some.
    labels_.clear();
    for (const auto& text : label_texts_) {
      double value = 0;
      if (!parse_number(text, value)) {
        // What was read so far is dropped: these are names of classes.
        targets_.clear();
        return false;
      }
      targets_.push_back(static_cast<float>(value));
    }
    return true;
  }

  void collect_names() {
    classes_ = label_texts_;
    std::sort(classes_.begin(), classes_.end());
    classes_.erase(std::unique(classes_.begin(), classes_.end()),
                   classes_.end());
  }

  void label_by_name(std::string_view where) {
    std::unordered_map<std::string_view, std::int32_t> numbers;
    // A class has the number of its place, which is the sorted one or the
    // training part's.
    for (const auto& name : classes_) {
      numbers.emplace(name, static_cast<std::int32_t>(numbers.size()));
    }
    labels_.clear();
    for (std::size_t row = 0; row < label_texts_.size(); ++row) {
      const auto found = numbers.find(label_texts_[row]);
      if (found == numbers.end()) {
        throw Error(ErrorCode::kDataLoss,
                    fmt::format("{}:{}", where, lines_[row]),
                    fmt::format("label '{}' does not occur in the training "
                                "part",
                                label_texts_[row].substr(0, 40)));
      }
      labels_.push_back(found->second);
    }
  }

  std::int64_t columns_ = 0;
  std::vector<float> values_;
  std::vector<std::int32_t> labels_;
  std::vector<float> targets_;
  // Needed only while reading.
  std::vector<std::string> label_texts_;
  std::vector<std::size_t> lines_;
};

}  // namespace

DatasetRef parse_table(std::string_view text, std::string_view where,
                       const Dataset* train) {
  return std::make_shared<Table>(text, where, train);
}

}  // namespace weft
