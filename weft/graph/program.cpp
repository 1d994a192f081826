#include "weft/graph/program.h"

namespace weft {
namespace {

template <class... Args>
Error wrong(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorCode::kInvalidArgument, "program",
               fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

Program::Program(const Graph& graph) {
  // A function may name one that comes later: signatures are compared at the
  // end, by build().
  for (const Function& function : graph.functions) add(function);
}

void Program::claim(const std::string& name) {
  // The name is taken before the body is built, so that the body cannot define
  // another function under it.
  if (!names_.emplace(name, FunctionRef{name, nullptr}).second) {
    throw wrong("there is a function @{} already", name)
        .hint("unique_name() makes a name that is free");
  }
}

FunctionRef Program::declare(std::string name, Signature signature) {
  claim(name);
  FunctionRef& declared = names_.at(name);
  declared.signature = std::make_shared<Signature>(std::move(signature));
  return declared;
}

void Program::define(const FunctionRef& function, const Body& body) {
  FunctionBuilder& built = builder(function.name);
  add(built.build([&] {
    std::vector<Value> parameters;
    for (const TensorType& type : function.signature->parameters) {
      parameters.push_back(built.parameter(type));
    }
    return body(parameters);
  }));
}

FunctionRef Program::define(std::string name,
                            const std::vector<TensorType>& parameters,
                            const Body& body) {
  claim(name);
  FunctionBuilder& built = builder(std::move(name));
  return add(built.build([&] {
    std::vector<Value> values;
    for (const TensorType& type : parameters) {
      values.push_back(built.parameter(type));
    }
    return body(values);
  }));
}

FunctionBuilder& Program::builder(std::string name,
                                  FunctionBuilder* enclosing) {
  // Values refer to their builder: a deque keeps its elements where they are.
  return enclosing == nullptr
             ? builders_.emplace_back(*this, std::move(name))
             : builders_.emplace_back(*enclosing, std::move(name));
}

FunctionRef Program::add(const Function& function) {
  FunctionRef made = reference_to(function);
  FunctionRef& known = names_.try_emplace(made.name, made).first->second;
  // A declared name may be defined once, and any other only if it is new.
  if (bodies_.contains(made.name)) {
    throw wrong("@{} is defined twice", made.name);
  }
  if (known.signature != nullptr && !(known == made)) {
    throw wrong("@{} is not what was declared", made.name)
        .detail("declared: " + to_string(*known.signature))
        .detail("defined:  " + to_string(*made.signature));
  }
  // A name that was claimed without a signature gets it here.
  known = made;
  // A copy numbers the values in their order, also those that came late.
  bodies_[made.name] =
      &functions_.emplace_back(specialize(function, Bindings()));
  return made;
}

const Function& Program::body_of(const FunctionRef& function) const {
  const auto found = bodies_.find(function.name);
  if (found == bodies_.end()) {
    throw wrong("@{} has no body yet", function.name)
        .hint("define it before its gradient is asked for");
  }
  return *found->second;
}

const FunctionRef* Program::find_derived(const FunctionRef& from,
                                         const std::string& kind) const {
  const auto found = derived_.find({from.name, kind});
  return found == derived_.end() ? nullptr : &found->second;
}

FunctionRef Program::declare_derived(const FunctionRef& from,
                                     const std::string& kind,
                                     Signature signature) {
  // The name says what it was made from: a placement finds it by that
  // (place/placement.h).
  FunctionRef made{unique_name(from.name + "." + kind),
                   std::make_shared<Signature>(std::move(signature))};
  names_[made.name] = made;
  // From here on find_derived() gives it, also to what builds its body.
  derived_[{from.name, kind}] = made;
  return made;
}

std::string Program::unique_name(const std::string& stem) {
  std::string name = stem;
  for (int i = 2; names_.contains(name); ++i) {
    name = fmt::format("{}.{}", stem, i);
  }
  claim(name);
  return name;
}

Graph Program::build() const {
  // A name that was claimed by declare() may never have got a body.
  for (const auto& [name, function] : names_) {
    if (bodies_.contains(name)) continue;
    throw wrong("@{} is declared, but it has no body", name)
        .hint("give it one with define()");
  }
  Graph graph{{functions_.begin(), functions_.end()}};
  // All bodies are there only now, so calls are checked against them here.
  verify(graph);
  return graph;
}

void add_missing(Program& program, std::span<const Function> functions) {
  for (const Function& each : functions) {
    if (!program.contains(each.name())) program.add(each);
  }
}

}  // namespace weft
