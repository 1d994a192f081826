// Stages a callable: the first call with arguments of some kind traces it to a
// graph, later ones run the graph.
//
//   auto step = weft::jit([&](const Value& x, const Value& y) {
//     return mean_squared_error(model(x), y);
//   });
//   const Value loss = step(x, y);   // traced
//   const Value next = step(x2, y2); // one run of a plan
//
// Arguments and results are Values, numbers, texts, and containers and structs
// of them (leaves.h). Tensors count by dtype and shape, all else by value or
// identity. What a callable may do: jit_function.h.
//
// Threads: as JitFunction, if the callable may run on several threads.
#pragma once

#include <type_traits>
#include <typeinfo>
#include <utility>

#include "weft/runtime/jit/jit_function.h"
#include "weft/runtime/jit/leaves.h"

namespace weft {

namespace detail {

// How an argument is kept while it is traced.
template <class T>
struct Kept {
  using type = std::decay_t<T>;
};
template <class T>
requires std::is_convertible_v<T, std::string>
struct Kept<T> {
  using type = std::string;
};
template <class T>
requires std::is_same_v<std::remove_cvref_t<T>, Tensor>
struct Kept<T> {
  using type = Value;
};

}  // namespace detail

template <class F>
class Jitted {
 public:
  Jitted(F callable, JitOptions options)
      : state_(
            std::make_shared<State>(std::move(callable), std::move(options))) {}

  template <class... Args>
  auto operator()(Args&&... given) const {
    using Packed = std::tuple<typename detail::Kept<Args>::type...>;
    using Returned =
        std::invoke_result_t<F&, typename detail::Kept<Args>::type&...>;
    const Packed packed(std::forward<Args>(given)...);
    const auto results =
        state_->core.call(flatten(packed), tracer<Returned>(packed));
    if constexpr (!std::is_void_v<Returned>) {
      return unflatten<Returned>(results);
    }
  }

  // The graph that a call with these arguments runs.
  template <class... Args>
  GraphFunctionRef graph(Args&&... given) const {
    using Packed = std::tuple<typename detail::Kept<Args>::type...>;
    using Returned =
        std::invoke_result_t<F&, typename detail::Kept<Args>::type&...>;
    const Packed packed(std::forward<Args>(given)...);
    return state_->core.graph(flatten(packed), tracer<Returned>(packed));
  }

  const JitFunction& core() const { return state_->core; }

 private:
  struct State {
    State(F f, JitOptions options)
        : callable(std::move(f)), core(std::move(options)) {}
    F callable;
    JitFunction core;
  };

  template <class Packed>
  static Arguments flatten(const Packed& packed) {
    Arguments arguments;
    detail::Flattener flattener{arguments};
    std::apply([&](auto&... each) { (detail::walk(each, flattener), ...); },
               packed);
    // Leaves may be alike where types are not.
    arguments.add_context(
        static_cast<std::int64_t>(typeid(Packed).hash_code()));
    return arguments;
  }

  // Runs the callable on a copy of the arguments with symbols for tensors.
  template <class Returned, class Packed>
  JitFunction::Body tracer(const Packed& packed) const {
    return [&packed, this](std::span<const Value> symbols) {
      Packed staged = packed;
      detail::Filler filler(symbols);
      detail::walk(staged, filler);
      JitFunction::Results results;
      if constexpr (std::is_void_v<Returned>) {
        std::apply(state_->callable, staged);
      } else {
        auto structure = std::make_shared<std::decay_t<Returned>>(
            std::apply(state_->callable, staged));
        detail::Collector collector;
        detail::walk(*structure, collector);
        results.tensors = std::move(collector.values);
        // The symbols must not outlive the trace.
        const std::vector<Value> nothing(results.tensors.size());
        detail::Filler eraser(nothing);
        detail::walk(*structure, eraser);
        results.structure = std::move(structure);
      }
      return results;
    };
  }

  template <class Returned>
  static std::decay_t<Returned> unflatten(const JitFunction::Results& results) {
    using Plain = std::decay_t<Returned>;
    if constexpr (std::is_same_v<Plain, Value>) {
      return results.tensors[0];
    } else {
      // What calls itself has no result to copy yet.
      Plain plain = results.structure
                        ? *static_cast<const Plain*>(results.structure.get())
                        : Plain{};
      if constexpr (std::is_same_v<Plain, std::vector<Value>>) {
        plain.resize(results.tensors.size());
      }
      detail::Filler filler(results.tensors);
      detail::walk(plain, filler);
      return plain;
    }
  }

  std::shared_ptr<State> state_;
};

template <class F>
Jitted<std::decay_t<F>> jit(F&& callable, JitOptions options = {}) {
  return {std::forward<F>(callable), std::move(options)};
}

}  // namespace weft
