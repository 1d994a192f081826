// JSON lines, an object a line, as columns.
//
// An object within an object has the features "outer.inner"; a list has the
// values of its items, and lists may be within lists, as deep in all rows. A
// key that a line lacks, and null, is missing, which an empty list is not.
// Texts are texts, also those that look like numbers; true and false are the
// texts "true" and "false". NaN, Infinity and -Infinity, for which JSON has no
// word, are read as Python and others write them.
#pragma once

#include <fstream>
#include <map>
#include <nlohmann/json_fwd.hpp>

#include "weft/validation/row_source.h"

namespace weft::validation {

// How deep lists are nested; at least so deep, where no value stands in any.
struct ListDepth {
  std::size_t least = 0;
  bool is_sure = false;
};

class JsonRows final : public RowSource {
 public:
  // Throws Error(kUnavailable) for what cannot be opened.
  explicit JsonRows(const std::filesystem::path& path);
  explicit JsonRows(std::unique_ptr<std::istream> lines, std::string where);

  // Throws Error(kDataLoss) with the line for what is no object, a key that
  // comes twice, lists of objects, lists of other depths than before, and lines
  // of more than kMostLineBytes.
  bool next(ColumnBatch& batch) override;

  static constexpr std::size_t kMostLineBytes = std::size_t{16} << 20;

 private:
  using Json = nlohmann::ordered_json;

  void add_line(const std::string& line, ColumnBatch& batch);
  void add_object(const std::string& prefix, const Json& object, int depth,
                  ColumnBatch& batch);
  void add_value(const std::string& name, const Json& value,
                 ColumnBatch& batch);
  void add_items(Column& column, const Json& value, std::size_t level,
                 ColumnBatch& batch);
  Column& column(const std::string& name, ColumnBatch& batch);
  [[noreturn]] void fail(const std::string& reason) const;

  std::string where_;
  std::unique_ptr<std::istream> lines_;
  std::size_t number_ = 0;
  std::map<std::string, std::size_t> places_;
  std::vector<std::string> names_;
  std::vector<ListDepth> depths_;
};

}  // namespace weft::validation
