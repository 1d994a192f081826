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
  for (const Function& function : graph.functions) add(function);
}

void Program::claim(const std::string& name) {
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
  FunctionBuilder builder(*this, function.name);
  add(builder.build([&] {
    std::vector<Value> parameters;
    for (const TensorType& type : function.signature->parameters) {
      parameters.push_back(builder.parameter(type));
    }
    return body(parameters);
  }));
}

FunctionRef Program::define(std::string name,
                            const std::vector<TensorType>& parameters,
                            const Body& body) {
  claim(name);
  FunctionBuilder builder(*this, std::move(name));
  return add(builder.build([&] {
    std::vector<Value> values;
    for (const TensorType& type : parameters) {
      values.push_back(builder.parameter(type));
    }
    return body(values);
  }));
}

FunctionRef Program::add(Function function) {
  const FunctionRef made = reference_to(function);
  FunctionRef& known = names_.try_emplace(made.name, made).first->second;
  if (graph_.find(made.name) != nullptr) {
    throw wrong("@{} is defined twice", made.name);
  }
  if (known.signature != nullptr && !(known == made)) {
    throw wrong("@{} is not what was declared", made.name)
        .detail("declared: " + to_string(*known.signature))
        .detail("defined:  " + to_string(*made.signature));
  }
  known = made;
  graph_.functions.push_back(std::move(function));
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
  for (const auto& [name, function] : names_) {
    if (graph_.find(name) != nullptr) continue;
    throw wrong("@{} is declared, but it has no body", name)
        .hint("give it one with define()");
  }
  verify(graph_);
  return graph_;
}

}  // namespace weft
