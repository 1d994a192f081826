// Keys of a section as members of a struct: one table says what a key is
// called, means and may be, and where it is kept.
//
//   const Fields<TrainRecipe>& train_fields() {
//     static const Fields<TrainRecipe> fields{
//         field<&TrainRecipe::epochs>("epochs", "passes over the data",
//                                     {.range = {.least = 1}})};
//     return fields;
//   }
//
// Threads: immutable.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "weft/tensor/dtype.h"
#include "weft/train/recipe/recipe_writer.h"
#include "weft/train/recipe/section_reader.h"

namespace weft {

template <class S>
struct Field {
  OptionSpec spec;  // with the default that S has
  void (*set)(S& section, const OptionValue& value);
  OptionValue (*get)(const S& section);
};
template <class S>
using Fields = std::vector<Field<S>>;

// What a key may be, beside its type.
struct FieldLimits {
  NumberRange range = {};
  std::vector<std::string> choices = {};
  std::string unit = {};
  const CallKind* calls = nullptr;
};

namespace detail {

template <class T>
OptionValue to_option(const T& value) {
  if constexpr (std::is_same_v<T, DType>) {
    return std::string(to_string(value));
  } else {
    return value;
  }
}

template <class T>
T from_option(const OptionValue& value) {
  if constexpr (std::is_same_v<T, DType>) {
    return *dtype_from_string(std::get<std::string>(value));
  } else {
    return std::get<T>(value);
  }
}

template <class S, class T>
S section_of(T S::*);
template <class S, class T>
T type_of(T S::*);

}  // namespace detail

template <auto member>
auto field(std::string name, std::string summary, FieldLimits limits = {}) {
  using S = decltype(detail::section_of(member));
  using T = decltype(detail::type_of(member));
  return Field<S>{
      {.name = std::move(name),
       .value = detail::to_option(S().*member),
       .summary = std::move(summary),
       .range = limits.range,
       .choices = std::move(limits.choices),
       .unit = std::move(limits.unit),
       .calls = limits.calls},
      [](S& section, const OptionValue& value) {
        section.*member = detail::from_option<T>(value);
      },
      [](const S& section) { return detail::to_option(section.*member); }};
}

template <class S>
std::vector<OptionSpec> specs_of(const Fields<S>& fields) {
  std::vector<OptionSpec> specs;
  for (const Field<S>& field : fields) specs.push_back(field.spec);
  return specs;
}

template <class S>
void read_fields(SectionReader& reader, const Fields<S>& fields, S& section) {
  for (const Field<S>& field : fields) {
    field.set(section, reader.read(field.spec));
  }
}

template <class S>
void write_fields(const S& section, const Fields<S>& fields,
                  RecipeWriter& out) {
  for (const Field<S>& field : fields) {
    out.key(field.spec.name, field.get(section));
  }
}

}  // namespace weft
