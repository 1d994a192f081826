// Examples that a schema allows, at random, and at its edges more often: what a
// training program must be able to take.
//
// Threads: value types and pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/validation/schema.h"

namespace weft::validation {

// A value, or a list of such.
struct ExampleItem {
  std::string text = {};
  bool is_string = false;
  bool is_list = false;
  std::vector<ExampleItem> items = {};

  bool operator==(const ExampleItem&) const = default;
};

// What a row has for each feature; nothing where it lacks it.
using Example = std::vector<std::optional<ExampleItem>>;

struct Examples {
  std::vector<std::string> names;
  std::vector<ValueType> types;
  std::vector<Example> rows;
};

// How examples are given to a program: a table, which has one value of each
// feature at most, or an object a line.
enum class ExampleFormat { kCsv, kJsonLines };

// `count` examples, the same for the same seed. Numbers are the ends of their
// ranges, 0, ±1, the largest there are, and NaN and infinity where they are not
// disallowed, as often as any between; lists are as short and as long as they
// may be; optional features are missing in every fourth row.
//
// Throws Error(kInvalidArgument) for a schema that contradicts itself, or that
// so few rows cannot fulfil, and Error(kUnsupported) for lists in a table.
Examples make_examples(const Schema& schema, std::size_t count,
                       std::uint64_t seed, const std::string& environment,
                       ExampleFormat format);

// Whether each row that has the feature has exactly one value, which then
// stands for itself, and not as a list of one.
bool is_scalar(const FeatureRule& rule);

// A finite number as a text that is none of an integer.
std::string float_text(double value);

// As a program reads them: numbers as JSON has them, with NaN and Infinity as
// Python and others write them.
std::string text_of(const Examples& examples, ExampleFormat format);

ColumnBatch columns_of(const Examples& examples, ExampleFormat format);

}  // namespace weft::validation
