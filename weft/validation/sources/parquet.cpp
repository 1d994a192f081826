// Parquet: *.parquet, and folders of such files.
#include "weft/data/parquet.h"

#include <algorithm>
#include <optional>

#include "weft/validation/row_source.h"

namespace weft {
namespace {

using validation::Column;
using validation::ColumnBatch;
using validation::RowRequest;

// Their values stay in the second level of the cache.
constexpr std::int64_t kRowsAtOnce = 1024;

class ParquetRows final : public validation::RowSource {
 public:
  explicit ParquetRows(std::vector<std::filesystem::path> files)
      : files_(std::move(files)) {
    open_file();
  }

  bool next(ColumnBatch& batch) override {
    batch.clear();
    while (true) {
      batch.rows = is_begun_ ? reading_->next(kRowsAtOnce, texts_) : 0;
      if (batch.rows > 0) break;
      if (!go_on()) return false;
    }
    batch.columns.resize(texts_.size());
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      write(texts_[i], batch.columns[i]);
      batch.columns[i].name = names_[i];
    }
    return true;
  }

 private:
  void open_file() {
    reading_.emplace(files_[file_]);
    names_ = reading_->names();
    check_columns();
    group_ = 0;
    is_begun_ = false;
  }

  void check_columns() const {
    try {
      for (std::size_t i = 0; i < names_.size(); ++i) {
        const bool is_read =
            reading_->is_list(i) && reading_->kind(i) != ParquetKind::kNone;
        if (!is_read) reading_->check(i);
      }
    } catch (Error& refused) {
      throw std::move(refused.hint(
          "as JSON lines (.jsonl) it may have lists of lists, and objects"));
    }
  }

  // To the next row group, also of the next file; false behind the last.
  bool go_on() {
    while (group_ == reading_->groups()) {
      if (++file_ == files_.size()) return false;
      open_file();
    }
    std::vector<std::size_t> all(names_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    reading_->begin(group_++, std::move(all));
    return is_begun_ = true;
  }

  // Takes the values of `texts` along.
  static void write(ParquetTexts& texts, Column& column) {
    column.is_typed = true;
    const std::size_t rows = texts.values.size();
    if (!texts.lengths.empty()) {
      column.levels[0] = texts.lengths;
      column.values.swap(texts.values);
    } else if (std::ranges::find(texts.is_known, 0) == texts.is_known.end()) {
      column.levels[0].assign(rows, 1);
      column.values.swap(texts.values);
    } else {
      for (std::size_t row = 0; row < rows; ++row) {
        const bool is_known = texts.is_known[row] != 0;
        column.levels[0].push_back(is_known ? 1 : -1);
        if (is_known) column.values.push_back(texts.values[row]);
      }
    }
    if (texts.is_text) column.are_strings.assign(column.values.size(), 1);
  }

  std::vector<std::filesystem::path> files_;
  std::size_t file_ = 0;
  std::optional<ParquetFile> reading_;
  std::vector<std::string> names_;
  std::size_t group_ = 0;  // that is begun next
  bool is_begun_ = false;
  std::vector<ParquetTexts> texts_;
};

bool reads_parquet(const RowRequest& request) {
  return !parquet_files(request.data).empty();
}

std::unique_ptr<validation::RowSource> open_parquet_rows(
    const RowRequest& request) {
  return std::make_unique<ParquetRows>(parquet_files(request.data));
}

}  // namespace

void register_rows_parquet(validation::RowSourceRegistry& registry) {
  registry.add({.name = "parquet",
                .summary = "Parquet (.parquet, or a folder of them)",
                .reads = reads_parquet,
                .open = open_parquet_rows});
}

}  // namespace weft
