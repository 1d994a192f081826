#include "weft/data/piece_table.h"

#include <algorithm>
#include <list>
#include <mutex>

namespace weft {
namespace {

class PieceTable final : public Dataset {
 public:
  PieceTable(std::shared_ptr<const RecordPieces> records,
             std::shared_ptr<const TableSchema> schema, std::int64_t mixed)
      : records_(std::move(records)) {
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
      piece(i);
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
    DatasetRef rows;
    records_->with(number, [&](const Records& records) {
      rows = parse_table(records, {}, this);
    });
    if (kept_.size() == most_kept_) kept_.pop_back();
    kept_.push_front({number, rows});
    return rows;
  }

  std::shared_ptr<const RecordPieces> records_;
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

}  // namespace

DatasetRef open_pieces(std::shared_ptr<const RecordPieces> records,
                       const PieceOptions& options, const Dataset* train) {
  check(*records);
  const auto schema = train != nullptr
                          ? train->table()
                          : fit_table(*records, nullptr, options.table);
  return std::make_shared<PieceTable>(std::move(records), schema,
                                      options.mixed);
}

DatasetSplits split_pieces(std::shared_ptr<const RecordPieces> records,
                           const PieceOptions& options) {
  check(*records);
  const auto schema = fit_table(*records, is_not_held_out, options.table);
  return hold_out_fifth(
      std::make_shared<PieceTable>(std::move(records), schema, options.mixed));
}

}  // namespace weft
