// Walks structures of Values: arguments and results of staged functions.
//
// Known are Values, numbers, texts, shared pointers (by identity), variables
// (by identity), tuples, pairs, arrays, vectors, maps, optionals, and structs
// that name their members:
//
//   struct State {
//     Value position, momentum;
//     int steps = 10;
//     static auto leaves(auto& self) {
//       return std::tie(self.position, self.momentum, self.steps);
//     }
//   };
//
// Threads: pure functions of their arguments.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "weft/graph/variable.h"
#include "weft/runtime/jit/arguments.h"

namespace weft::detail {

template <class T>
concept Tuple = requires {
  std::tuple_size<T>::value;
};
template <class T>
concept Range = requires(T& t) {
  t.begin();
  t.end();
  t.size();
};
template <class T>
concept Struct = requires(T& t) {
  T::leaves(t);
};
template <class T>
concept Pointer = requires(const T& t) {
  std::weak_ptr<const void>(t);
};
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

// Calls the visitor's tensor(), host() and object() for leaves, and begin()
// and end() around containers.
template <class T, class Visitor>
void walk(T& object, Visitor& visitor) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, Value>) {
    visitor.tensor(object);
  } else if constexpr (std::is_same_v<Plain, bool>) {
    visitor.host(object);
  } else if constexpr (std::integral<Plain> || std::is_enum_v<Plain>) {
    visitor.host(static_cast<std::int64_t>(object));
  } else if constexpr (std::floating_point<Plain>) {
    visitor.host(static_cast<double>(object));
  } else if constexpr (std::is_same_v<Plain, std::string>) {
    visitor.host(std::string_view(object));
  } else if constexpr (std::is_same_v<Plain, Variable>) {
    visitor.object(object.state());
  } else if constexpr (Pointer<Plain>) {
    visitor.object(object);
  } else if constexpr (Struct<Plain>) {
    auto members = Plain::leaves(object);
    walk(members, visitor);
  } else if constexpr (is_optional<Plain>) {
    visitor.begin(object ? 1 : 0);
    if (object) walk(*object, visitor);
    visitor.end();
  } else if constexpr (Range<Plain>) {
    visitor.begin(object.size());
    for (auto& element : object) walk(element, visitor);
    visitor.end();
  } else {
    static_assert(Tuple<Plain>,
                  "give the struct a static leaves(), or pass a shared_ptr");
    visitor.begin(std::tuple_size_v<Plain>);
    std::apply([&](auto&... each) { (walk(each, visitor), ...); }, object);
    visitor.end();
  }
}

// Describes a structure to Arguments.
struct Flattener {
  Arguments& arguments;
  void tensor(const Value& value) { arguments.add(value); }
  template <class Host>
  void host(Host value) {
    arguments.add(value);
  }
  void object(std::weak_ptr<const void> object) {
    arguments.add_object(std::move(object));
  }
  void begin(std::size_t size) { arguments.begin(size); }
  void end() { arguments.end(); }
};

struct TensorVisitor {
  template <class Host>
  void host(Host) {}
  void object(const std::weak_ptr<const void>&) {}
  void begin(std::size_t) {}
  void end() {}
};

// Takes the tensors out, in order.
struct Collector : TensorVisitor {
  std::vector<Value> values;
  void tensor(const Value& value) { values.push_back(value); }
};

// Puts others in their place.
struct Filler : TensorVisitor {
  explicit Filler(std::span<const Value> given) : values(given) {}
  std::span<const Value> values;
  std::size_t next = 0;
  void tensor(Value& value) { value = values[next++]; }
};

}  // namespace weft::detail
