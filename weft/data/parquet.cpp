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
       // In a wheel the code lies in weft.libs, beside the package.
       .files = {(code_folder() / "libweft_arrow.so").string(),
                 (code_folder() / "../weft/libweft_arrow.so").string()},
       // The version is that of tools/arrow.txt.
       .how = "tools/arrow.sh brings Arrow, and tools/build.sh then makes "
              "libweft_arrow.so; a wheel has that, and needs pip install "
              "'pyarrow==26.*'; WEFT_ARROW=FILE names another"});
  ParquetEntry entry = nullptr;
  library.find(entry, "weft_parquet_functions");
  return *entry();
}

const ParquetFunctions& functions() {
  static const ParquetFunctions& loaded = load();
  return loaded;
}

// There is room for all digits of each, so that the memory stays where it is.
template <class Number>
void write_numbers(std::span<const Number> numbers, ParquetTexts& texts) {
  texts.memory.resize(numbers.size() * kMostDigits);
  char* at = texts.memory.data();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    char* const begin = at;
    if (texts.is_known[i] != 0) {
      at = std::to_chars(begin, begin + kMostDigits, numbers[i]).ptr;
    }
    texts.values.emplace_back(begin, static_cast<std::size_t>(at - begin));
  }
}

// The same bits, without a sign.
std::span<const std::uint64_t> unsigned_numbers(const ParquetValues& values,
                                                std::size_t rows) {
  return {reinterpret_cast<const std::uint64_t*>(values.integers), rows};
}

template <class Number>
void add(std::span<const Number> added, NumberColumn& numbers) {
  auto* all = std::get_if<std::vector<Number>>(&numbers.values);
  // A column without numbers has no type yet.
  if (all == nullptr) all = &numbers.values.emplace<std::vector<Number>>();
  all->insert(all->end(), added.begin(), added.end());
}

}  // namespace

void ParquetFile::write_texts(std::size_t i, ParquetTexts& texts) const {
  const ParquetValues& values = values_[i];
  const ParquetKind kind = this->kind(reading_[i]);
  const std::size_t rows = values.count;
  texts.lengths.clear();
  if (values.lengths != nullptr) {
    texts.lengths.assign(values.lengths, values.lengths + rows_);
  }
  texts.is_text = kind == ParquetKind::kText || kind == ParquetKind::kBool;
  texts.values.clear();
  texts.values.reserve(rows);
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
      return write_numbers(unsigned_numbers(values, rows), texts);
    case ParquetKind::kFloat:
      return write_numbers(std::span(values.floats, rows), texts);
    case ParquetKind::kDouble:
      return write_numbers(std::span(values.doubles, rows), texts);
    case ParquetKind::kText:
      for (const auto& [begin, size] : std::span(values.texts, rows)) {
        texts.values.emplace_back(begin, size);
      }
      return;
    case ParquetKind::kNone:
      break;
  }
  WEFT_CHECK(false, "a column that is not read");
}

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

bool ParquetFile::is_list(std::size_t column) const {
  return columns_[column].is_list;
}

void ParquetFile::check(std::size_t column) const {
  const ParquetColumn& checked = columns_[column];
  if (checked.kind != ParquetKind::kNone && !checked.is_list) return;
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

std::int64_t ParquetFile::next(std::int64_t most) {
  const ParquetValues* values = nullptr;
  const std::int64_t rows = functions_->read(file_.get(), most, &values);
  if (rows < 0) fail();
  values_ = {values, reading_.size()};
  rows_ = static_cast<std::size_t>(rows);
  return rows;
}

std::int64_t ParquetFile::next(std::int64_t most,
                               std::vector<ParquetTexts>& columns) {
  const std::int64_t rows = next(most);
  columns.resize(reading_.size());
  for (std::size_t i = 0; i < reading_.size(); ++i) write_texts(i, columns[i]);
  return rows;
}

void ParquetFile::add_numbers(std::size_t i, NumberColumn& numbers) const {
  const ParquetValues& values = values_[i];
  numbers.is_known.insert(numbers.is_known.end(), values.is_known,
                          values.is_known + rows_);
  switch (kind(reading_[i])) {
    case ParquetKind::kInteger:
      return add(std::span(values.integers, rows_), numbers);
    case ParquetKind::kUnsigned:
      return add(unsigned_numbers(values, rows_), numbers);
    case ParquetKind::kFloat: {
      std::vector<double> doubles;
      doubles.reserve(rows_);
      for (std::size_t row = 0; row < rows_; ++row) {
        doubles.push_back(number_of_float(values.floats[row]));
      }
      return add(std::span<const double>(doubles), numbers);
    }
    case ParquetKind::kDouble:
      return add(std::span(values.doubles, rows_), numbers);
    default:
      WEFT_CHECK(false, "a column that has no numbers");
  }
}

bool has_numbers(ParquetKind kind) {
  return kind == ParquetKind::kInteger || kind == ParquetKind::kUnsigned ||
         kind == ParquetKind::kFloat || kind == ParquetKind::kDouble;
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
