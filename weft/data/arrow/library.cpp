// libweft_arrow.so: the functions of functions.h, over Arrow's reader of
// Parquet.
#include <algorithm>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>
#include <charconv>
#include <exception>
#include <memory>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <span>
#include <string>
#include <vector>

#include "weft/data/arrow/functions.h"

namespace weft {
namespace {

// What a page of a row group may take at most: a damaged header asks for more.
constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;

std::string& last_error() {
  thread_local std::string text;
  return text;
}

// What Arrow throws stays on this side of the border.
template <class Result, class Call>
Result guarded(Result failed, Call call) {
  try {
    return call();
  } catch (const std::exception& error) {
    last_error() = error.what();
  } catch (...) {
    last_error() = "of a kind that is not known";
  }
  return failed;
}

ParquetKind kind_of(const parquet::ColumnDescriptor& column) {
  const auto& logical = *column.logical_type();
  switch (column.physical_type()) {
    case parquet::Type::BOOLEAN:
      return ParquetKind::kBool;
    case parquet::Type::INT32:
    case parquet::Type::INT64:
      if (logical.is_decimal()) return ParquetKind::kDouble;
      if (logical.is_int() &&
          !static_cast<const parquet::IntLogicalType&>(logical).is_signed()) {
        return ParquetKind::kUnsigned;
      }
      return ParquetKind::kInteger;
    case parquet::Type::INT96:
      return ParquetKind::kInteger;
    case parquet::Type::FLOAT:
      return ParquetKind::kFloat;
    case parquet::Type::DOUBLE:
      return ParquetKind::kDouble;
    case parquet::Type::BYTE_ARRAY:
      if (logical.is_decimal()) return ParquetKind::kDouble;
      return logical.is_none() || logical.is_string() || logical.is_enum() ||
                     logical.is_JSON()
                 ? ParquetKind::kText
                 : ParquetKind::kNone;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      if (logical.is_decimal()) return ParquetKind::kDouble;
      return logical.is_float16() ? ParquetKind::kFloat : ParquetKind::kNone;
    default:
      return ParquetKind::kNone;
  }
}

// A decimal as the number that its digits say, rounded once.
template <class Decimal>
double number_of(const Decimal& decimal, std::int32_t scale) {
  const std::string digits = decimal.ToString(scale);
  double number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

double big_endian_decimal(const std::uint8_t* bytes, std::int32_t size,
                          std::int32_t scale) {
  // Arrow's 128 bits serve 38 digits, the most that others write.
  const auto decimal = arrow::Decimal128::FromBigEndian(bytes, size);
  PARQUET_THROW_NOT_OK(decimal.status());
  return number_of(*decimal, scale);
}

// Reads one column of a row group, rows at a time.
class Column {
 public:
  Column(std::shared_ptr<parquet::ColumnReader> reader, ParquetKind kind)
      : reader_(std::move(reader)), kind_(kind) {}

  // Appends up to `most` rows, fewer only at the end of the group.
  std::int64_t read(std::int64_t most) {
    clear();
    levels_.resize(static_cast<std::size_t>(most));
    switch (reader_->type()) {
      case parquet::Type::BOOLEAN:
        return read_as<parquet::BooleanType>(most);
      case parquet::Type::INT32:
        return read_as<parquet::Int32Type>(most);
      case parquet::Type::INT64:
        return read_as<parquet::Int64Type>(most);
      case parquet::Type::INT96:
        return read_as<parquet::Int96Type>(most);
      case parquet::Type::FLOAT:
        return read_as<parquet::FloatType>(most);
      case parquet::Type::DOUBLE:
        return read_as<parquet::DoubleType>(most);
      case parquet::Type::BYTE_ARRAY:
        return read_as<parquet::ByteArrayType>(most);
      case parquet::Type::FIXED_LEN_BYTE_ARRAY:
        return read_as<parquet::FLBAType>(most);
      default:
        throw parquet::ParquetException("a column of no known type");
    }
  }

  ParquetValues values() const {
    return {.is_known = is_known_.data(),
            .integers = integers_.data(),
            .floats = floats_.data(),
            .doubles = doubles_.data(),
            .text = text_.data(),
            .text_ends = text_ends_.data()};
  }

 private:
  void clear() {
    is_known_.clear();
    integers_.clear();
    floats_.clear();
    doubles_.clear();
    text_.clear();
    text_ends_.clear();
  }

  template <class Type>
  std::int64_t read_as(std::int64_t most) {
    using Value = typename Type::c_type;
    auto& reader = static_cast<parquet::TypedColumnReader<Type>&>(*reader_);
    const std::int16_t full = reader.descr()->max_definition_level();
    // An array of bool is no vector<bool>.
    const auto values =
        std::make_unique_for_overwrite<Value[]>(static_cast<std::size_t>(most));
    std::int64_t rows = 0;
    // A call ends with a page, and what texts point to with the next call.
    while (rows < most && reader.HasNext()) {
      std::int64_t known = 0;
      const std::int64_t count = reader.ReadBatch(
          most - rows, levels_.data(), nullptr, values.get(), &known);
      if (count == 0 && known == 0) break;
      const std::int64_t given = full == 0 ? known : count;
      if (known == given) {
        is_known_.insert(is_known_.end(), static_cast<std::size_t>(given), 1);
        for (std::int64_t i = 0; i < given; ++i) {
          add(values[static_cast<std::size_t>(i)], true);
        }
      } else {
        add_some(std::span(levels_).first(static_cast<std::size_t>(given)),
                 full,
                 std::span<const Value>(values.get(),
                                        static_cast<std::size_t>(known)));
      }
      rows += given;
    }
    return rows;
  }

  // Values of those rows that have one, which their levels say.
  template <class Value>
  void add_some(std::span<const std::int16_t> levels, std::int16_t full,
                std::span<const Value> known) {
    std::size_t next = 0;
    for (const std::int16_t level : levels) {
      const bool is_known = level == full;
      if (is_known && next == known.size()) {
        throw parquet::ParquetException("a page has too few values");
      }
      is_known_.push_back(is_known ? 1 : 0);
      add(is_known ? known[next++] : Value{}, is_known);
    }
  }

  void add(bool value, bool) { integers_.push_back(value ? 1 : 0); }
  void add(std::int32_t value, bool) {
    if (kind_ == ParquetKind::kDouble) {
      doubles_.push_back(number_of(arrow::Decimal128(value), scale()));
    } else {
      // The bits of an unsigned number have no sign to be extended.
      integers_.push_back(kind_ == ParquetKind::kUnsigned
                              ? static_cast<std::uint32_t>(value)
                              : std::int64_t{value});
    }
  }
  void add(std::int64_t value, bool) {
    if (kind_ == ParquetKind::kDouble) {
      doubles_.push_back(number_of(arrow::Decimal128(value), scale()));
    } else {
      integers_.push_back(value);
    }
  }
  void add(const parquet::Int96& value, bool) {
    integers_.push_back(parquet::Int96GetNanoSeconds(value));
  }
  void add(float value, bool) { floats_.push_back(value); }
  void add(double value, bool) { doubles_.push_back(value); }
  void add(const parquet::ByteArray& value, bool is_known) {
    if (kind_ == ParquetKind::kDouble) {
      doubles_.push_back(
          is_known
              ? big_endian_decimal(
                    value.ptr, static_cast<std::int32_t>(value.len), scale())
              : 0);
      return;
    }
    if (is_known) {
      text_.append(reinterpret_cast<const char*>(value.ptr), value.len);
    }
    text_ends_.push_back(text_.size());
  }
  void add(const parquet::FixedLenByteArray& value, bool is_known) {
    if (kind_ == ParquetKind::kDouble) {
      doubles_.push_back(
          is_known
              ? big_endian_decimal(value.ptr, descr().type_length(), scale())
              : 0);
    } else {
      floats_.push_back(
          is_known ? arrow::util::Float16::FromLittleEndian(value.ptr).ToFloat()
                   : 0);
    }
  }

  const parquet::ColumnDescriptor& descr() const { return *reader_->descr(); }
  std::int32_t scale() const {
    return static_cast<const parquet::DecimalLogicalType&>(
               *descr().logical_type())
        .scale();
  }

  std::shared_ptr<parquet::ColumnReader> reader_;
  ParquetKind kind_;
  std::vector<std::int16_t> levels_;
  std::vector<std::uint8_t> is_known_;
  std::vector<std::int64_t> integers_;
  std::vector<float> floats_;
  std::vector<double> doubles_;
  std::string text_;
  std::vector<std::size_t> text_ends_;
};

class File {
 public:
  File(const void* bytes, std::size_t size) {
    parquet::ReaderProperties properties(&pool_);
    // Pages that have a checksum are held to it.
    properties.set_page_checksum_verification(true);
    reader_ = parquet::ParquetFileReader::Open(
        std::make_shared<arrow::io::BufferReader>(
            std::make_shared<arrow::Buffer>(
                static_cast<const std::uint8_t*>(bytes),
                static_cast<std::int64_t>(size))),
        properties);
    list_columns();
  }

  const std::vector<ParquetColumn>& columns() const { return columns_; }
  std::size_t groups() const {
    return static_cast<std::size_t>(reader_->metadata()->num_row_groups());
  }
  std::int64_t group_rows(std::size_t group) const {
    return reader_->metadata()->RowGroup(static_cast<int>(group))->num_rows();
  }

  void begin(std::size_t group, const std::size_t* columns, std::size_t count) {
    reading_.clear();
    // A group that is read column by column must end where its header says.
    left_ = group_rows(group);
    const auto reader = reader_->RowGroup(static_cast<int>(group));
    for (std::size_t i = 0; i < count; ++i) {
      reading_.emplace_back(reader->Column(leaves_.at(columns[i])),
                            columns_.at(columns[i]).kind);
    }
  }

  std::int64_t read(std::int64_t most, const ParquetValues** values) {
    const std::int64_t due = std::min(most, left_);
    values_.clear();
    for (Column& column : reading_) {
      if (column.read(due) != due) {
        throw parquet::ParquetException(
            "a column has fewer values than its row group has rows");
      }
      values_.push_back(column.values());
    }
    *values = values_.data();
    left_ -= due;
    return due;
  }

 private:
  void list_columns() {
    list_fields(*reader_->metadata()->schema()->group_node(), "");
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].name = names_[i].c_str();
      columns_[i].type = types_[i].c_str();
    }
  }

  // The fields of a structure are columns of their own, "place.x".
  void list_fields(const parquet::schema::GroupNode& group,
                   const std::string& prefix) {
    const parquet::SchemaDescriptor& schema = *reader_->metadata()->schema();
    for (int i = 0; i < group.field_count(); ++i) {
      const auto& field = *group.field(i);
      const std::string name = prefix + field.name();
      const bool is_one = !field.is_repeated();
      if (is_one && field.is_group() && field.logical_type()->is_none() &&
          field.converted_type() == parquet::ConvertedType::NONE) {
        list_fields(static_cast<const parquet::schema::GroupNode&>(field),
                    name + ".");
        continue;
      }
      const bool is_flat = is_one && field.is_primitive();
      const int leaf = is_flat ? schema.ColumnIndex(field) : -1;
      const bool is_map = field.logical_type()->is_map();
      names_.push_back(name);
      types_.push_back(is_flat  ? type_of(*schema.Column(leaf))
                       : is_map ? "map"
                                : "list");
      columns_.push_back({.kind = is_flat ? kind_of(*schema.Column(leaf))
                                          : ParquetKind::kNone});
      leaves_.push_back(leaf);
    }
  }

  static std::string type_of(const parquet::ColumnDescriptor& column) {
    const auto& logical = *column.logical_type();
    return logical.is_none() ? parquet::TypeToString(column.physical_type())
                             : logical.ToString();
  }

  arrow::CappedMemoryPool pool_{arrow::default_memory_pool(), kMostBytes};
  std::unique_ptr<parquet::ParquetFileReader> reader_;
  std::vector<std::string> names_;
  std::vector<std::string> types_;
  std::vector<ParquetColumn> columns_;
  std::vector<int> leaves_;  // Parquet's number of each column
  std::vector<Column> reading_;
  std::vector<ParquetValues> values_;
  std::int64_t left_ = 0;  // rows of the group
};

void* open_file(const void* bytes, std::size_t size) {
  return guarded<void*>(nullptr, [&] { return new File(bytes, size); });
}

void close_file(void* file) { delete static_cast<File*>(file); }

std::size_t columns_of(void* file, const ParquetColumn** columns) {
  const auto& all = static_cast<File*>(file)->columns();
  *columns = all.data();
  return all.size();
}

std::size_t groups_of(void* file) { return static_cast<File*>(file)->groups(); }

std::int64_t rows_of_group(void* file, std::size_t group) {
  return guarded<std::int64_t>(
      -1, [&] { return static_cast<File*>(file)->group_rows(group); });
}

int begin_group(void* file, std::size_t group, const std::size_t* columns,
                std::size_t count) {
  return guarded(-1, [&] {
    static_cast<File*>(file)->begin(group, columns, count);
    return 0;
  });
}

std::int64_t read_rows(void* file, std::int64_t most,
                       const ParquetValues** values) {
  return guarded<std::int64_t>(
      -1, [&] { return static_cast<File*>(file)->read(most, values); });
}

const char* error_text() { return last_error().c_str(); }

}  // namespace
}  // namespace weft

extern "C" const weft::ParquetFunctions* weft_parquet_functions() {
  using namespace weft;
  static const ParquetFunctions functions = {
      open_file,     close_file,  columns_of, groups_of,
      rows_of_group, begin_group, read_rows,  error_text};
  return &functions;
}
