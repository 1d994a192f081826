// The records of a table in pieces, read as often as they are needed, so that a
// table may be larger than memory: of a Parquet file its row groups, of what is
// in memory one.
//
// Threads: each() and with() may be called from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/data/records.h"

namespace weft {

// Which rows, by their number in the table, something is learned from; null:
// all.
using RowFilter = bool (*)(std::int64_t row);

class RecordPieces {
 public:
  virtual ~RecordPieces() = default;

  virtual const std::string& where() const = 0;
  virtual const std::vector<std::string>& names() const = 0;
  virtual std::size_t count() const = 0;
  virtual std::int64_t rows(std::size_t piece) const = 0;
  // Shows one piece to `use`, of which it looks at these columns, by number;
  // others may be "". Throws what reading throws.
  using Use = std::function<void(const Records&)>;
  virtual void with(std::size_t piece, std::span<const std::size_t> columns,
                    const Use& use) const = 0;

  std::int64_t rows() const;
  // Shows the rows that `filter` takes, one after the other.
  using UseRow = std::function<void(const Records&, std::size_t row)>;
  void each(RowFilter filter, std::span<const std::size_t> columns,
            const UseRow& use) const;
};

// Records in memory, which must outlive it.
class OnePiece final : public RecordPieces {
 public:
  explicit OnePiece(const Records& records) : records_(&records) {}

  const std::string& where() const override { return records_->where(); }
  const std::vector<std::string>& names() const override {
    return records_->names();
  }
  std::size_t count() const override { return 1; }
  std::int64_t rows(std::size_t) const override {
    return static_cast<std::int64_t>(records_->rows());
  }
  void with(std::size_t, std::span<const std::size_t>,
            const Use& use) const override {
    use(*records_);
  }

 private:
  const Records* records_;
};

}  // namespace weft
