// libweft_arrow.so: the functions of functions.h, over Arrow's reader of
// Parquet.
#include <algorithm>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <exception>
#include <memory>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <string>
#include <vector>

#include "weft/data/arrow/column.h"
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
      const ParquetColumn& column = columns_.at(columns[i]);
      reading_.emplace_back(reader->Column(leaves_.at(columns[i])), column.kind,
                            column.is_list);
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
      const parquet::schema::Node* values =
          is_flat ? &field : list_values(field);
      const int leaf = values != nullptr ? schema.ColumnIndex(*values) : -1;
      const bool is_map = field.logical_type()->is_map();
      names_.push_back(name);
      types_.push_back(is_flat  ? type_of(*schema.Column(leaf))
                       : is_map ? "map"
                                : "list");
      columns_.push_back({.kind = leaf < 0 ? ParquetKind::kNone
                                           : kind_of(*schema.Column(leaf)),
                          .is_list = !is_flat});
      leaves_.push_back(leaf);
    }
  }

  // What a list of single values holds; null for what is no such list.
  static const parquet::schema::Node* list_values(
      const parquet::schema::Node& field) {
    using parquet::schema::GroupNode;
    const auto only_field = [](const parquet::schema::Node& group) {
      const auto& fields = static_cast<const GroupNode&>(group);
      return fields.field_count() == 1 ? fields.field(0).get() : nullptr;
    };
    const parquet::schema::Node* repeated = &field;
    if (!field.is_repeated()) {
      if (!field.is_group() || !field.logical_type()->is_list()) return nullptr;
      repeated = only_field(field);
      if (repeated == nullptr || !repeated->is_repeated()) return nullptr;
    }
    // Older programs repeat the values themselves.
    if (repeated->is_primitive()) return repeated;
    if (!field.logical_type()->is_list()) return nullptr;
    const parquet::schema::Node* value = only_field(*repeated);
    return value != nullptr && value->is_primitive() && !value->is_repeated()
               ? value
               : nullptr;
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
