// A graph under construction: functions that may refer to each other, and to
// themselves, before they have bodies.
//
//   Program program;
//   const FunctionRef halve = program.declare("halve", {{f32}, {f32}});
//   program.define(halve, [&](const std::vector<Value>& x) {
//     const auto stop = [&] { return x; };
//     const auto go_on = [&] { return call(halve, std::vector{x[0] / 2}); };
//     return cond(less(x[0], ones_like(x[0])), stop, go_on);
//   });
//   const Graph graph = program.build();
//
// Threads: one thread at a time.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/builder.h"

namespace weft {

class Program {
 public:
  // Makes a function's results from its parameters.
  using Body = std::function<std::vector<Value>(const std::vector<Value>&)>;

  Program() = default;
  // Goes on with functions that exist.
  explicit Program(const Graph& graph);
  Program(const Program&) = delete;  // builders hold its address
  Program& operator=(const Program&) = delete;

  // A function whose body comes later. Throws Error(kInvalidArgument) if the
  // name is taken.
  FunctionRef declare(std::string name, Signature signature);
  // Gives a declared function its body. Throws Error(kInvalidArgument) if it
  // has one, or if what `body` returns is not what was declared.
  void define(const FunctionRef& function, const Body& body);
  // Declares and defines at once: the results' types are those of `body`.
  FunctionRef define(std::string name,
                     const std::vector<TensorType>& parameters,
                     const Body& body);
  // A function that was built elsewhere: under a declared name, one from
  // unique_name(), or a new one. Throws Error(kInvalidArgument) as define().
  FunctionRef add(const Function& function);

  // A function made from others, once for each `kind`, which may name the
  // others: declared by declare_derived(), under a name like from.kind.
  const FunctionRef* find_derived(const FunctionRef& from,
                                  const std::string& kind) const;
  FunctionRef declare_derived(const FunctionRef& from, const std::string& kind,
                              Signature signature);

  // A builder that lives as long as the program, so that no two functions can
  // mistake each other's values; inside `enclosing`, if there is one.
  FunctionBuilder& builder(std::string name,
                           FunctionBuilder* enclosing = nullptr);

  // `stem`, or the first of stem.2, stem.3, … that is free; taken from now on.
  std::string unique_name(const std::string& stem);
  bool contains(const std::string& name) const {
    return bodies_.contains(name);
  }
  // A function that has its body. Good as long as the program. Throws
  // Error(kInvalidArgument) if it has none yet.
  const Function& body_of(const FunctionRef& function) const;

  // Those that have bodies, which may call others that have none yet.
  const std::deque<Function>& functions() const { return functions_; }
  // All functions, verified. Throws Error(kInvalidArgument) that names a
  // function that was declared and not defined.
  Graph build() const;

 private:
  void claim(const std::string& name);

  std::deque<FunctionBuilder> builders_;
  std::deque<Function> functions_;
  // What each name stands for; without a signature while its function is
  // being built.
  std::map<std::string, FunctionRef> names_;
  std::map<std::string, const Function*> bodies_;
  std::map<std::pair<std::string, std::string>, FunctionRef> derived_;
};

// Adds those functions that the program does not contain by name.
void add_missing(Program& program, std::span<const Function> functions);

}  // namespace weft
