// The compile-time arguments of an op: axis, strides, dtype, ….
//
// Threads: a value type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/graph/host_function.h"
#include "weft/graph/signature.h"

namespace weft {

using Integers = std::vector<std::int64_t>;

// A Shape may hold symbols; a Tensor is the value of a constant.
class Attribute
    : public std::variant<bool, std::int64_t, double, std::string, Integers,
                          Shape, DType, Tensor, FunctionRef, HostFunctionRef> {
 public:
  using variant::variant;

  // What copies and destroys ten kinds of value is long: it is compiled once,
  // not wherever an op is given its attributes.
  Attribute();
  Attribute(const Attribute& other);
  Attribute(Attribute&& other) noexcept;
  Attribute& operator=(const Attribute& other);
  Attribute& operator=(Attribute&& other) noexcept;
  ~Attribute();
};

std::string_view kind_of(const Attribute& attribute);
std::string to_string(const Attribute& attribute);
// Tensors are equal by type and bytes, numbers by their bits, functions by name
// and signature, code of the program by identity.
bool equal(const Attribute& a, const Attribute& b);

class Attributes {
 public:
  using Entry = std::pair<std::string, Attribute>;

  Attributes();
  Attributes(std::initializer_list<Entry> entries);
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();

  // Null if there is none. Takes time in proportion to the number of
  // attributes, which is small.
  const Attribute* find(std::string_view name) const;
  // Replaces the value, or adds the attribute behind the others.
  void set(std::string name, Attribute value);

  // The value of an attribute that the op's schema guarantees.
  template <class T>
  const T& get(std::string_view name) const {
    const Attribute* found = find(name);
    WEFT_CHECK(found != nullptr, "no attribute '{}'", name);
    const T* value = std::get_if<T>(found);
    WEFT_CHECK(value != nullptr, "attribute '{}' has another kind", name);
    return *value;
  }
  // The same for each kind.
  std::int64_t integer(std::string_view name) const {
    return get<std::int64_t>(name);
  }
  double real(std::string_view name) const { return get<double>(name); }
  bool flag(std::string_view name) const { return get<bool>(name); }
  const Integers& integers(std::string_view name) const {
    return get<Integers>(name);
  }
  const std::string& text(std::string_view name) const {
    return get<std::string>(name);
  }
  const FunctionRef& function(std::string_view name) const {
    return get<FunctionRef>(name);
  }

  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  // Whether the entries are equal and in the same order, which is the schema's
  // for attributes that OpDef::complete() made.
  bool operator==(const Attributes& other) const;

 private:
  std::vector<Entry> entries_;
};

// Equal attributes have equal hashes. Of a large tensor only the first bytes
// count, so that it costs no more than a small one.
std::size_t hash_of(const Attributes& attributes);

// "{axis = 1, keep = true}", or "" when there are none.
std::string to_string(const Attributes& attributes);

}  // namespace weft
