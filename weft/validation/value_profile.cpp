#include "weft/validation/value_profile.h"

#include <algorithm>
#include <cmath>

#include "weft/validation/value_text.h"

namespace weft::validation {

bool ValueProfile::add(std::uint64_t hash, std::string_view text,
                       std::uint64_t size, bool is_string, std::uint64_t count,
                       double* number) {
  distinct.add(hash);
  bytes += count * size;
  least_bytes = std::min(least_bytes, size);
  most_bytes = std::max(most_bytes, size);
  // What is a number is plain ASCII, and longer texts than are kept are none.
  const ParsedValue value = parse_value(text);
  if (is_string || value.kind == ValueKind::kText) {
    (is_string ? strings : texts) += count;
    if (value.kind == ValueKind::kInt) integer_strings += count;
    if (value.kind != ValueKind::kText) number_strings += count;
    if (!is_utf8(text)) invalid_utf8 += count;
    forms.add_text(text.substr(0, kMostKeptBytes), count);
    if (vocabulary) words.add(vocabulary->count(text), count);
    return false;
  }
  if (value.kind == ValueKind::kInt) {
    integers += count;
    forms.add_integer(value.integer, count);
    least_integer = std::min(least_integer, value.integer);
    most_integer = std::max(most_integer, value.integer);
  } else {
    floats += count;
    if (std::isnan(value.number)) {
      nans += count;
      return false;
    }
    if (std::isinf(value.number)) {
      (value.number > 0 ? positive_infinities : negative_infinities) += count;
      return false;
    }
    least_float = std::min(least_float, value.number);
    most_float = std::max(most_float, value.number);
  }
  if (value.number == 0) zeros += count;
  numbers.add(value.number, count);
  *number = value.number;
  return true;
}

void ValueProfile::add_numbers(std::span<const double> values,
                               std::span<const double> weights) {
  moments.add(values, {});
  if (!weights.empty()) weighted.add(values, weights);
}

void ValueProfile::add(const ValueCount& value) {
  double number = 0;
  if (!add(value.hash, value.text, value.bytes, value.is_string, value.count,
           &number)) {
    return;
  }
  moments.add(number, static_cast<double>(value.count));
  if (value.weight > 0) weighted.add(number, value.weight);
}

void ValueProfile::merge(const ValueProfile& other) {
  integers += other.integers;
  floats += other.floats;
  texts += other.texts;
  strings += other.strings;
  integer_strings += other.integer_strings;
  number_strings += other.number_strings;
  zeros += other.zeros;
  nans += other.nans;
  positive_infinities += other.positive_infinities;
  negative_infinities += other.negative_infinities;
  least_integer = std::min(least_integer, other.least_integer);
  most_integer = std::max(most_integer, other.most_integer);
  least_float = std::min(least_float, other.least_float);
  most_float = std::max(most_float, other.most_float);
  moments.merge(other.moments);
  weighted.merge(other.weighted);
  numbers.merge(other.numbers);
  bytes += other.bytes;
  least_bytes = std::min(least_bytes, other.least_bytes);
  most_bytes = std::max(most_bytes, other.most_bytes);
  invalid_utf8 += other.invalid_utf8;
  distinct.merge(other.distinct);
  forms.merge(other.forms);
  words.add(other.words);
}

void ValueProfile::write(StateWriter& out) const {
  for (const std::uint64_t count :
       {integers, floats, texts, strings, integer_strings, number_strings,
        zeros, nans, positive_infinities, negative_infinities, bytes,
        least_bytes, most_bytes, invalid_utf8}) {
    out.number(count);
  }
  out.number(least_integer);
  out.number(most_integer);
  out.number(least_float);
  out.number(most_float);
  moments.write(out);
  weighted.write(out);
  numbers.write(out);
  distinct.write(out);
  forms.write(out);
  out.number(words.words);
  out.number(words.known);
}

ValueProfile ValueProfile::read(StateReader& in) {
  ValueProfile profile;
  for (std::uint64_t* count :
       {&profile.integers, &profile.floats, &profile.texts, &profile.strings,
        &profile.integer_strings, &profile.number_strings, &profile.zeros,
        &profile.nans, &profile.positive_infinities,
        &profile.negative_infinities, &profile.bytes, &profile.least_bytes,
        &profile.most_bytes, &profile.invalid_utf8}) {
    *count = in.number<std::uint64_t>();
  }
  profile.least_integer = in.number<std::int64_t>();
  profile.most_integer = in.number<std::int64_t>();
  profile.least_float = in.number<double>();
  profile.most_float = in.number<double>();
  profile.moments = Moments::read(in);
  profile.weighted = Moments::read(in);
  profile.numbers = QuantileSketch::read(in);
  profile.distinct = HyperLogLog::read(in);
  profile.forms = FormCounts::read(in);
  profile.words.words = in.number<std::uint64_t>();
  profile.words.known = in.number<std::uint64_t>();
  if (profile.words.known > profile.words.words) {
    in.fail("more words are known than there are");
  }
  if (profile.numbers.count() + profile.nans + profile.positive_infinities +
          profile.negative_infinities !=
      profile.integers + profile.floats) {
    in.fail("numbers and their quantiles differ in number");
  }
  return profile;
}

}  // namespace weft::validation
