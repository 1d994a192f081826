#include "weft/data/piece_table.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <numeric>
#include <optional>

namespace weft {
namespace {

std::vector<std::size_t> all_columns(const RecordPieces& records) {
  std::vector<std::size_t> all(records.names().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// Pieces that are read once and kept, while all of them are needed several
// times.
class KeptPieces final : public RecordPieces {
 public:
  explicit KeptPieces(const RecordPieces& source)
      : source_(&source), kept_(source.count()) {}

  const std::string& where() const override { return source_->where(); }
  const std::vector<std::string>& names() const override {
    return source_->names();
  }
  std::size_t count() const override { return source_->count(); }
  std::int64_t rows(std::size_t piece) const override {
    return source_->rows(piece);
  }
  void with(std::size_t piece, std::span<const std::size_t>,
            const Use& use) const override {
    const std::lock_guard lock(mutex_);
    if (!kept_[piece]) {
      source_->with(piece, all_columns(*source_),
                    [&](const Records& records) { kept_[piece] = records; });
    }
    use(*kept_[piece]);
  }

 private:
  const RecordPieces* source_;
  mutable std::mutex mutex_;
  mutable std::vector<std::optional<Records>> kept_;
};

class PieceTable final : public Dataset {
 public:
  // `fitted` has the same records, and may have them at hand.
  PieceTable(std::shared_ptr<const RecordPieces> records,
             const RecordPieces& fitted,
             std::shared_ptr<const TableSchema> schema, std::int64_t mixed)
      : records_(std::move(records)), columns_(all_columns(*records_)) {
    name_ = records_->where();
    features_ = {{"features", {DType::kF32, {schema->columns.width()}}},
                 {"label", schema->labels->type()}};
    classes_ = schema->labels->classes();
    target_scale_ = schema->labels->scale();
    category_counts_ = schema->columns.category_counts();
    table_ = std::move(schema);
    for (std::size_t piece = 0; piece < records_->count(); ++piece) {
      size_ += records_->rows(piece);
      blocks_.push_back(size_);
    }
    const auto all = static_cast<std::int64_t>(blocks_.size());
    // With all of them in memory, nothing is won by an order.
    mixed_blocks_ = mixed < all ? mixed : 0;
    // A batch may end one group of blocks and begin the next.
    most_kept_ = static_cast<std::size_t>(mixed_blocks_ > 0 ? mixed + 1 : all);
    for (std::size_t i = 0; mixed_blocks_ == 0 && i < records_->count(); ++i) {
      keep(i, fitted);
    }
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    std::vector<TensorView> views(batch.begin(), batch.end());
    for (TensorView& view : views) view.type.shape[0] = 1;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto block = static_cast<std::size_t>(
          std::ranges::upper_bound(blocks_, rows[i]) - blocks_.begin());
      const std::int64_t row = rows[i] - (block == 0 ? 0 : blocks_[block - 1]);
      for (std::size_t f = 0; f < batch.size(); ++f) {
        views[f].data = row_of(batch[f], i);
      }
      piece(block)->read({&row, 1}, views);
    }
  }

 private:
  struct Kept {
    std::size_t piece;
    DatasetRef rows;
  };

  DatasetRef piece(std::size_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(kept_, number, &Kept::piece);
    if (found != kept_.end()) {
      // What was asked for last stands first.
      kept_.splice(kept_.begin(), kept_, found);
      return found->rows;
    }
    return keep(number, *records_);
  }

  DatasetRef keep(std::size_t number, const RecordPieces& from) const {
    DatasetRef rows;
    from.with(number, columns_, [&](const Records& records) {
      rows = parse_table(records, {}, this);
    });
    if (kept_.size() == most_kept_) kept_.pop_back();
    kept_.push_front({number, rows});
    return rows;
  }

  std::shared_ptr<const RecordPieces> records_;
  std::vector<std::size_t> columns_;  // all of them
  std::size_t most_kept_ = 0;
  mutable std::mutex mutex_;
  mutable std::list<Kept> kept_;
};

void check(const RecordPieces& records) {
  if (records.rows() == 0) {
    throw Error(ErrorCode::kDataLoss, records.where(), "no records");
  }
  if (records.names().size() == 1) {
    throw Error(ErrorCode::kDataLoss, records.where(),
                "one column only: a label and nothing to predict it from");
  }
}

DatasetRef open_fitted(std::shared_ptr<const RecordPieces> records,
                       const PieceOptions& options, RowFilter training,
                       const Dataset* train) {
  check(*records);
  // What fits into memory as numbers is also read only once.
  std::optional<KeptPieces> kept;
  if (options.mixed == 0) kept.emplace(*records);
  const RecordPieces& fitted = kept ? *kept : *records;
  const auto schema = train != nullptr
                          ? train->table()
                          : fit_table(fitted, training, options.table);
  return std::make_shared<PieceTable>(std::move(records), fitted, schema,
                                      options.mixed);
}

}  // namespace

DatasetRef open_pieces(std::shared_ptr<const RecordPieces> records,
                       const PieceOptions& options, const Dataset* train) {
  return open_fitted(std::move(records), options, nullptr, train);
}

DatasetSplits split_pieces(std::shared_ptr<const RecordPieces> records,
                           const PieceOptions& options) {
  return hold_out_fifth(
      open_fitted(std::move(records), options, is_not_held_out, nullptr));
}

}  // namespace weft
