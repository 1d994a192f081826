#include "weft/data/parquet.h"

#include <algorithm>
#include <charconv>

#include "weft/base/error.h"
#include "weft/base/libraries/shared_library.h"

namespace weft {
namespace {

constexpr std::size_t kMostDigits = 32;

const ParquetFunctions& load() {
  const SharedLibrary library(
      {.name = "Apache Arrow, which reads Parquet",
       .variable = "WEFT_ARROW",
       .files = {(code_folder() / "libweft_arrow.so").string()},
       .how = "tools/arrow.sh brings Arrow, and tools/build.sh then makes "
              "libweft_arrow.so; WEFT_ARROW=FILE names another"});
  ParquetEntry entry = nullptr;
  library.find(entry, "weft_parquet_functions");
  return *entry();
}

const ParquetFunctions& functions() {
  static const ParquetFunctions& loaded = load();
  return loaded;
}

// Appends numbers one behind the other, and points to them at the end, when the
// memory stays where it is.
template <class Number>
void write_numbers(std::span<const Number> numbers, ParquetTexts& texts) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t begin = texts.memory.size();
    if (texts.is_known[i] != 0) {
      texts.memory.resize(begin + kMostDigits);
      char* at = texts.memory.data() + begin;
      const auto end = std::to_chars(at, at + kMostDigits, numbers[i]).ptr;
      texts.memory.resize(begin + static_cast<std::size_t>(end - at));
    }
    ends.push_back(texts.memory.size());
  }
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    texts.values.emplace_back(texts.memory.data() + begin, end - begin);
    begin = end;
  }
}

void write(const ParquetValues& values, ParquetKind kind, std::size_t rows,
           ParquetTexts& texts) {
  texts.is_text = kind == ParquetKind::kText || kind == ParquetKind::kBool;
  texts.values.clear();
  texts.memory.clear();
  texts.is_known.assign(values.is_known, values.is_known + rows);
  switch (kind) {
    case ParquetKind::kBool:
      for (std::size_t i = 0; i < rows; ++i) {
        texts.values.push_back(texts.is_known[i] == 0    ? ""
                               : values.integers[i] != 0 ? "true"
                                                         : "false");
      }
      return;
    case ParquetKind::kInteger:
      return write_numbers(std::span(values.integers, rows), texts);
    case ParquetKind::kUnsigned:
      // The same bits, without a sign.
      return write_numbers(
          std::span(reinterpret_cast<const std::uint64_t*>(values.integers),
                    rows),
          texts);
    case ParquetKind::kFloat:
      return write_numbers(std::span(values.floats, rows), texts);
    case ParquetKind::kDouble:
      return write_numbers(std::span(values.doubles, rows), texts);
    case ParquetKind::kText:
      for (std::size_t i = 0, begin = 0; i < rows; ++i) {
        const std::size_t end = values.text_ends[i];
        texts.values.emplace_back(values.text + begin, end - begin);
        begin = end;
      }
      return;
    case ParquetKind::kNone:
      break;
  }
  WEFT_CHECK(false, "a column that is not read");
}

}  // namespace

ParquetFile::ParquetFile(const std::filesystem::path& path)
    : where_(path.string()), map_(path), functions_(&functions()) {
  open(map_.bytes());
}

ParquetFile::ParquetFile(ByteSpan bytes, std::string where)
    : where_(std::move(where)), functions_(&functions()) {
  open(bytes);
}

void ParquetFile::open(ByteSpan bytes) {
  file_ = {functions_->open(bytes.data(), bytes.size()), Closer{functions_}};
  if (file_ == nullptr) fail();
  const ParquetColumn* columns = nullptr;
  const std::size_t count = functions_->columns(file_.get(), &columns);
  columns_ = {columns, count};
}

void ParquetFile::fail() const {
  throw Error(ErrorCode::kDataLoss, where_, "cannot be read as Parquet: {}",
              functions_->error());
}

std::vector<std::string> ParquetFile::names() const {
  std::vector<std::string> names;
  for (const ParquetColumn& column : columns_) names.emplace_back(column.name);
  return names;
}

ParquetKind ParquetFile::kind(std::size_t column) const {
  return columns_[column].kind;
}

void ParquetFile::check(std::size_t column) const {
  const ParquetColumn& checked = columns_[column];
  if (checked.kind != ParquetKind::kNone) return;
  throw Error(ErrorCode::kUnsupported, where_,
              "column '{}' is of type {}, where a table has numbers and texts",
              checked.name, checked.type);
}

std::size_t ParquetFile::groups() const {
  return functions_->groups(file_.get());
}

std::int64_t ParquetFile::rows(std::size_t group) const {
  const std::int64_t rows = functions_->group_rows(file_.get(), group);
  if (rows < 0) fail();
  return rows;
}

void ParquetFile::begin(std::size_t group, std::vector<std::size_t> columns) {
  reading_ = std::move(columns);
  for (const std::size_t column : reading_) {
    WEFT_CHECK(columns_[column].kind != ParquetKind::kNone);
  }
  if (functions_->begin(file_.get(), group, reading_.data(), reading_.size()) !=
      0) {
    fail();
  }
}

std::int64_t ParquetFile::next(std::int64_t most,
                               std::vector<ParquetTexts>& columns) {
  const ParquetValues* values = nullptr;
  const std::int64_t rows = functions_->read(file_.get(), most, &values);
  if (rows < 0) fail();
  columns.resize(reading_.size());
  for (std::size_t i = 0; i < reading_.size(); ++i) {
    write(values[i], kind(reading_[i]), static_cast<std::size_t>(rows),
          columns[i]);
  }
  return rows;
}

std::vector<std::filesystem::path> parquet_files(
    const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    if (path.extension() != ".parquet") return {};
    return {path};
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (entry.path().extension() == ".parquet") files.push_back(entry.path());
  }
  // A folder lists its entries in any order, and parts are numbered by name.
  std::ranges::sort(files);
  return files;
}

}  // namespace weft
