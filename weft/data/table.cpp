#include "weft/data/table.h"

#include <algorithm>

namespace weft {
namespace {

class Table final : public Dataset {
 public:
  Table(const Records& records, std::shared_ptr<const TableSchema> schema) {
    name_ = records.where();
    size_ = static_cast<std::int64_t>(records.rows());
    const TableColumns& columns = schema->columns;
    features_ = {{"features", {DType::kF32, {columns.width()}}},
                 {"label", schema->labels->type()}};
    classes_ = schema->labels->classes();
    target_scale_ = schema->labels->scale();
    category_counts_ = columns.category_counts();
    // All records are encoded now: to parse a field takes longer than to copy
    // its numbers, and each epoch would do it again.
    encode(records, columns);
    // Labels are read once: a record's text is not kept.
    values_ = schema->labels->read(records);
    table_ = std::move(schema);
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    // A table has labels of one kind only.
    const bool is_class = values_.numbers.empty();
    const std::size_t labels =
        (is_class ? values_.classes.size() : values_.numbers.size()) /
        static_cast<std::size_t>(size_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[i]);
      const std::size_t width = rows_.size() / static_cast<std::size_t>(size_);
      std::copy_n(rows_.begin() + static_cast<std::ptrdiff_t>(row * width),
                  width, batch[0].as<float>() + i * width);
      if (is_class) {
        batch[1].as<std::int32_t>()[i] = values_.classes[row];
      } else {
        std::copy_n(
            values_.numbers.begin() + static_cast<std::ptrdiff_t>(row * labels),
            labels, batch[1].as<float>() + i * labels);
      }
    }
  }

 private:
  void encode(const Records& records, const TableColumns& columns) {
    const std::vector<std::size_t> places = columns.places_in(records);
    const auto width = static_cast<std::size_t>(columns.width());
    rows_.resize(records.rows() * width);
    for (std::size_t row = 0; row < records.rows(); ++row) {
      // Fields are brought into the order of the training part's columns.
      columns.encode(records, row, places, rows_.data() + row * width);
    }
  }

  std::vector<float> rows_;  // [size, width]
  TableLabels::Values values_;
};

void check(const Records& records) {
  if (records.rows() == 0) {
    throw Error(ErrorCode::kDataLoss, records.where(), "no records");
  }
  if (records.names().size() == 1) {
    throw Error(ErrorCode::kDataLoss, records.place(0),
                "one column only: a label and nothing to predict it from");
  }
}

}  // namespace

std::shared_ptr<const TableSchema> fit_table(const RecordPieces& records,
                                             RowFilter training,
                                             const TableOptions& options) {
  if (training != nullptr && records.rows() == 1) {
    throw Error(ErrorCode::kDataLoss, records.where(),
                "a single record cannot be both trained and measured on");
  }
  auto labels = std::make_shared<const TableLabels>(records, training, options);
  return std::make_shared<TableSchema>(
      TableSchema{TableColumns(records, training, options, labels->columns()),
                  labels->columns(), labels});
}

DatasetRef parse_table(const Records& records, const TableOptions& options,
                       const Dataset* train) {
  check(records);
  if (train != nullptr) {
    // A test part is read by what the training part taught: its categories,
    // means and scales.
    WEFT_CHECK(train->table() != nullptr, "the training part is no table");
    return std::make_shared<Table>(records, train->table());
  }
  return std::make_shared<Table>(
      records, fit_table(OnePiece(records), nullptr, options));
}

DatasetRef parse_table(std::string_view text, std::string_view where,
                       const TableOptions& options, const Dataset* train) {
  return parse_table(Records(text, std::string(where), options.format), options,
                     train);
}

DatasetSplits split_table(std::string_view text, std::string_view where,
                          const TableOptions& options) {
  return split_table(Records(text, std::string(where), options.format),
                     options);
}

DatasetSplits split_table(const Records& records, const TableOptions& options) {
  check(records);
  return hold_out_fifth(std::make_shared<Table>(
      records, fit_table(OnePiece(records), is_not_held_out, options)));
}

}  // namespace weft
