// What values are beyond their type: times in some format, images, sentences of
// a language. Each value is looked at alone, and how many have a form is
// counted, so that parts of data add up.
//
// Sentences are told as TFDV does by default: three words or more among the
// first hundred bytes, of 2.5 to 8 characters on average; here most of these
// are letters as well. Languages without blanks between words are not told.
// Source: tensorflow/data-validation, statistics/generators.
//
// Threads: a value type and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/validation/state_bytes.h"

namespace weft::validation {

enum class FormKind : std::uint8_t { kTime, kImage, kLanguage };
inline constexpr std::size_t kFormKinds = 3;

struct ValueForm {
  FormKind kind = FormKind::kTime;
  std::string format;  // time_text.h, image_text.h; empty for a language
  bool is_of_integers = false;
};

// All there are, those of a kind together.
const std::vector<ValueForm>& value_forms();
// Their formats.
std::vector<std::string> formats_of(FormKind kind);

bool is_language(std::string_view text);
// Whether one value is of the kind, and in the format unless that is empty.
bool has_form(FormKind kind, std::string_view format, std::string_view text,
              bool is_string);

// Texts that have it, the plainest first.
std::vector<std::string> form_examples(FormKind kind, std::string_view format,
                                       bool is_of_integers);

class FormCounts {
 public:
  FormCounts();

  // A text must be cut to its first kMostKeptBytes, so that it is the same
  // whoever counts it.
  void add_text(std::string_view text, std::uint64_t count);
  void add_integer(std::int64_t value, std::uint64_t count);
  void merge(const FormCounts& other);

  // How many values are of the kind, in whatever format; and in this one.
  std::uint64_t of(FormKind kind) const {
    return any_[static_cast<std::size_t>(kind)];
  }
  std::uint64_t of(FormKind kind, std::string_view format) const;
  // The format of the kind that most values have, the first of equal ones;
  // empty where none has any.
  std::string most_frequent(FormKind kind) const;

  void write(StateWriter& out) const;
  static FormCounts read(StateReader& in);

 private:
  void add(std::size_t place, std::uint64_t count) { counts_[place] += count; }
  void add_any(FormKind kind, std::uint64_t count) {
    any_[static_cast<std::size_t>(kind)] += count;
  }

  std::vector<std::uint64_t> counts_;  // as value_forms() has them
  std::array<std::uint64_t, kFormKinds> any_ = {};
};

}  // namespace weft::validation
