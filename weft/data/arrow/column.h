// One column of a row group, read rows at a time. It is a part of
// libweft_arrow.so, and throws what Arrow throws.
//
// Threads: caller synchronises.
#pragma once

#include <algorithm>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>
#include <charconv>
#include <cstddef>
#include <limits>
#include <memory>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <span>
#include <string>
#include <vector>

#include "weft/data/arrow/functions.h"

namespace weft {

// A decimal as the number that its digits say, rounded once.
template <class Decimal>
double number_of(const Decimal& decimal, std::int32_t scale) {
  const std::string digits = decimal.ToString(scale);
  double number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

inline double big_endian_decimal(const std::uint8_t* bytes, std::int32_t size,
                                 std::int32_t scale) {
  // Arrow's 128 bits serve 38 digits, the most that others write.
  const auto decimal = arrow::Decimal128::FromBigEndian(bytes, size);
  PARQUET_THROW_NOT_OK(decimal.status());
  return number_of(*decimal, scale);
}

// Reads one column of a row group, rows at a time.
class Column {
 public:
  Column(std::shared_ptr<parquet::ColumnReader> reader, ParquetKind kind,
         bool is_list)
      : reader_(std::move(reader)), kind_(kind), is_list_(is_list) {}

  // Appends up to `most` rows, fewer only at the end of the group.
  std::int64_t read(std::int64_t most) {
    clear();
    switch (reader_->type()) {
      case parquet::Type::BOOLEAN:
        return read_rows<parquet::BooleanType>(most);
      case parquet::Type::INT32:
        return read_rows<parquet::Int32Type>(most);
      case parquet::Type::INT64:
        return read_rows<parquet::Int64Type>(most);
      case parquet::Type::INT96:
        return read_rows<parquet::Int96Type>(most);
      case parquet::Type::FLOAT:
        return read_rows<parquet::FloatType>(most);
      case parquet::Type::DOUBLE:
        return read_rows<parquet::DoubleType>(most);
      case parquet::Type::BYTE_ARRAY:
        return read_rows<parquet::ByteArrayType>(most);
      case parquet::Type::FIXED_LEN_BYTE_ARRAY:
        return read_rows<parquet::FLBAType>(most);
      default:
        throw parquet::ParquetException("a column of no known type");
    }
  }

  ParquetValues values() const {
    return {.count = is_known_.size(),
            .lengths = is_list_ ? lengths_.data() : nullptr,
            .is_known = is_known_.data(),
            .integers = integers_.data(),
            .floats = floats_.data(),
            .doubles = doubles_.data(),
            .texts = texts_.data()};
  }

 private:
  void clear() {
    lengths_.clear();
    is_known_.clear();
    integers_.clear();
    floats_.clear();
    doubles_.clear();
    texts_.clear();
    kept_.clear();
    kept_texts_ = 0;
  }

  // Copies the texts that still stand in a page, which goes with the next one.
  void keep_texts() {
    if (kept_texts_ == texts_.size()) return;
    std::size_t size = 0;
    for (std::size_t i = kept_texts_; i < texts_.size(); ++i) {
      size += texts_[i].size;
    }
    kept_.push_back(std::make_unique_for_overwrite<char[]>(size));
    char* at = kept_.back().get();
    for (; kept_texts_ < texts_.size(); ++kept_texts_) {
      ParquetText& text = texts_[kept_texts_];
      std::copy_n(text.begin, text.size, at);
      text.begin = at;
      at += text.size;
    }
  }

  template <class Type>
  std::int64_t read_rows(std::int64_t most) {
    return is_list_ ? read_lists<Type>(most) : read_values<Type>(most);
  }

  template <class Type>
  std::int64_t read_values(std::int64_t most) {
    levels_.resize(static_cast<std::size_t>(most));
    using Value = typename Type::c_type;
    auto& reader = static_cast<parquet::TypedColumnReader<Type>&>(*reader_);
    const std::int16_t full = reader.descr()->max_definition_level();
    // An array of bool is no vector<bool>.
    const auto values =
        std::make_unique_for_overwrite<Value[]>(static_cast<std::size_t>(most));
    std::int64_t rows = 0;
    while (rows < most) {
      keep_texts();
      if (!reader.HasNext()) break;
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

  // Rows of lists begin where values repeat nothing, and end where the next one
  // begins: so values are read ahead, and wait for the next call.
  template <class Type>
  std::int64_t read_lists(std::int64_t most) {
    using Value = typename Type::c_type;
    const std::int16_t full = descr().max_definition_level();
    // The level of a list without values: there is no list below it.
    const int empty = full - 1 - (descr().schema_node()->is_optional() ? 1 : 0);
    std::int64_t rows = 0;
    while (next_ < repeats_.size() || read_ahead<Type>()) {
      const std::int16_t level = levels_[next_];
      if (repeats_[next_] == 0) {
        if (rows == most) break;
        ++rows;
        lengths_.push_back(level < empty ? -1 : 0);
      } else if (rows == 0) {
        throw parquet::ParquetException("a row group begins within a list");
      }
      if (level > empty) {
        if (level != full) {
          throw parquet::ParquetException("a list has a value that is null");
        }
        if (next_value_ == ahead_values_) {
          throw parquet::ParquetException("a page has too few values");
        }
        if (lengths_.back() == std::numeric_limits<std::int32_t>::max()) {
          throw parquet::ParquetException("a list has too many values");
        }
        ++lengths_.back();
        is_known_.push_back(1);
        add(reinterpret_cast<const Value*>(ahead_.get())[next_value_++], true);
      }
      ++next_;
    }
    return rows;
  }

  // The next values with their levels; false at the end of the group.
  template <class Type>
  bool read_ahead() {
    using Value = typename Type::c_type;
    constexpr std::size_t kAhead = 1024;
    auto& reader = static_cast<parquet::TypedColumnReader<Type>&>(*reader_);
    keep_texts();
    if (!reader.HasNext()) return false;
    if (!ahead_) {
      ahead_ =
          std::make_unique_for_overwrite<std::byte[]>(kAhead * sizeof(Value));
    }
    levels_.resize(kAhead);
    repeats_.resize(kAhead);
    const std::int64_t count = reader.ReadBatch(
        kAhead, levels_.data(), repeats_.data(),
        reinterpret_cast<Value*>(ahead_.get()), &ahead_values_);
    repeats_.resize(static_cast<std::size_t>(count));
    next_ = 0;
    next_value_ = 0;
    return count > 0;
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
      texts_.push_back({reinterpret_cast<const char*>(value.ptr), value.len});
    } else {
      texts_.push_back({});
    }
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
  bool is_list_;
  std::vector<std::int16_t> levels_;
  // What is read ahead of lists: levels_, these, and values, whose texts live
  // as long as nothing more is read.
  std::vector<std::int16_t> repeats_;
  std::unique_ptr<std::byte[]> ahead_;
  std::int64_t ahead_values_ = 0;
  std::size_t next_ = 0;
  std::int64_t next_value_ = 0;
  std::vector<std::int32_t> lengths_;
  std::vector<std::uint8_t> is_known_;
  std::vector<std::int64_t> integers_;
  std::vector<float> floats_;
  std::vector<double> doubles_;
  std::vector<ParquetText> texts_;
  std::size_t kept_texts_ = 0;  // of texts_, from the first on, stand in kept_
  std::vector<std::unique_ptr<char[]>> kept_;
};

}  // namespace weft
