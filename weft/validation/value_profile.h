// What is known of the values of a feature, but for how often each came:
// numbers and their quantiles, lengths of texts, how many are different.
//
// Threads: a value type.
#pragma once

#include <limits>
#include <memory>

#include "weft/validation/hyper_log_log.h"
#include "weft/validation/moments.h"
#include "weft/validation/quantile_sketch.h"
#include "weft/validation/value_counts.h"
#include "weft/validation/value_forms.h"
#include "weft/validation/vocabulary.h"

namespace weft::validation {

class ValueProfile {
 public:
  // The number of a value with its count taken in; the finite number itself is
  // left to who calls, and given back through `number`, as many at a time are
  // cheaper: false if there is none.
  bool add(std::uint64_t hash, std::string_view text, std::uint64_t bytes,
           bool is_string, std::uint64_t count, double* number);
  // Finite numbers that came so often each.
  void add_numbers(std::span<const double> numbers,
                   std::span<const double> weights);
  // A value of a table, with its number.
  void add(const ValueCount& value);
  void merge(const ValueProfile& other);

  void write(StateWriter& out) const;
  static ValueProfile read(StateReader& in);

  // How many are integers, other numbers, texts by what they look like, and
  // texts that the source calls so.
  std::uint64_t integers = 0;
  std::uint64_t floats = 0;
  std::uint64_t texts = 0;
  std::uint64_t strings = 0;
  // Strings that are integers, and integers or other numbers, by their looks.
  std::uint64_t integer_strings = 0;
  std::uint64_t number_strings = 0;
  // Among the numbers.
  std::uint64_t zeros = 0;
  std::uint64_t nans = 0;
  std::uint64_t positive_infinities = 0;
  std::uint64_t negative_infinities = 0;
  // The ends of the integers and of the other finite numbers: a double holds no
  // integer beyond 2^53 exactly.
  std::int64_t least_integer = std::numeric_limits<std::int64_t>::max();
  std::int64_t most_integer = std::numeric_limits<std::int64_t>::min();
  double least_float = std::numeric_limits<double>::infinity();
  double most_float = -std::numeric_limits<double>::infinity();
  Moments moments;
  Moments weighted;  // where rows have weights
  QuantileSketch numbers;
  // Bytes of all texts.
  std::uint64_t bytes = 0;
  std::uint64_t least_bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most_bytes = 0;
  std::uint64_t invalid_utf8 = 0;
  HyperLogLog distinct;
  FormCounts forms;
  // Words of the texts, where a vocabulary is given.
  std::shared_ptr<const Vocabulary> vocabulary = {};
  WordCounts words;
};

}  // namespace weft::validation
