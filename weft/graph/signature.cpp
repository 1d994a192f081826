#include "weft/graph/signature.h"

namespace weft {
namespace {

std::string type_list(const std::vector<TensorType>& types) {
  std::string text;
  for (const TensorType& type : types) {
    if (!text.empty()) text += ", ";
    text += to_string(type);
  }
  return "(" + text + ")";
}

template <class... Args>
[[noreturn]] void fail(const FunctionRef& function,
                       std::span<const TensorType> arguments,
                       fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorCode::kInvalidArgument, "@" + function.name,
              fmt::format(format, std::forward<Args>(args)...))
      .detail("signature: " + to_string(*function.signature))
      .detail("arguments: " + type_list({arguments.begin(), arguments.end()}));
}

}  // namespace

std::string to_string(const Signature& signature) {
  return type_list(signature.parameters) + " -> " +
         type_list(signature.results);
}

bool FunctionRef::operator==(const FunctionRef& other) const {
  if (name != other.name) return false;
  // A name that is only claimed has no signature yet (Program::claim).
  if (signature == nullptr || other.signature == nullptr) {
    return signature == other.signature;
  }
  return *signature == *other.signature;
}

std::string to_string(const FunctionRef& function) {
  if (function.signature == nullptr) return "@" + function.name;
  return "@" + function.name + to_string(*function.signature);
}

Bindings bind_call(const FunctionRef& function,
                   std::span<const TensorType> arguments) {
  if (function.signature == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "@" + function.name,
                "a reference without a signature cannot be called");
  }
  const auto& parameters = function.signature->parameters;
  if (parameters.size() != arguments.size()) {
    fail(function, arguments, "takes {} arguments, got {}", parameters.size(),
         arguments.size());
  }
  Bindings bindings;
  // Parameters are matched in rounds, as the order in which sizes become known
  // is not that of the parameters.
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < parameters.size(); ++i) open.push_back(i);
  // A size like N+M becomes known once another argument has told N.
  while (!open.empty()) {
    const std::size_t before = bindings.size();
    std::erase_if(open, [&](std::size_t i) {
      // A parameter that matches leaves the list, and may have told a size.
      return parameters[i].dtype == arguments[i].dtype &&
             match(parameters[i].shape, arguments[i].shape, bindings);
    });
    // A round that told nothing new would be followed by one like it.
    if (open.empty() || bindings.size() > before) continue;
    fail(function, arguments, "the argument {} is {}, which is no {}", open[0],
         to_string(arguments[open[0]]), to_string(parameters[open[0]]));
  }
  for (const TensorType& result : function.signature->results) {
    // The caller's values need dims, which nothing else would tell.
    if (determines(bindings, result.shape)) continue;
    fail(function, arguments,
         "the arguments do not tell the size of the result {}",
         to_string(result));
  }
  return bindings;
}

std::vector<TensorType> result_types(const FunctionRef& function,
                                     std::span<const TensorType> arguments) {
  const Bindings bindings = bind_call(function, arguments);
  std::vector<TensorType> types;
  for (const TensorType& type : function.signature->results) {
    types.push_back({type.dtype, substitute(type.shape, bindings)});
  }
  return types;
}

}  // namespace weft
