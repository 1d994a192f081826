#include "weft/runtime/host_func.h"

#include "weft/graph/host_function.h"
#include "weft/graph/registry.h"
#include "weft/runtime/eager.h"

namespace weft {
namespace {

class CallableFunction : public HostFunction {
 public:
  // A signature's symbols are bound by each call's operands.
  CallableFunction(FunctionRef signature, HostCallable callable)
      : signature_(std::move(signature)), callable_(std::move(callable)) {}

  const std::string& name() const override { return signature_.name; }

  std::vector<TensorType> result_types(
      std::span<const TensorType> operands) const override {
    return weft::result_types(signature_, operands);
  }

  std::vector<Tensor> run(std::span<const Tensor> operands) const override {
    // The kernel may run while this thread builds another function, into which
    // the code's ops must not go.
    const ContextScope eager(eager_context());
    const std::vector<Value> values(operands.begin(), operands.end());
    std::vector<TensorType> types;
    for (const Tensor& operand : operands) types.push_back(operand.type());
    const auto wanted = result_types(types);
    std::vector<Tensor> results;
    for (const Value& value : callable_(values)) {
      results.push_back(value.tensor());
    }
    check(results, wanted);
    return results;
  }

  HostFunctionRef gradient() const override {
    Signature types = *signature_.signature;
    std::vector<TensorType> results;
    for (const TensorType& type : types.parameters) {
      // Nothing flows to or from integers and flags.
      if (is_floating(type.dtype)) results.push_back(type);
    }
    for (const TensorType& type : types.results) {
      if (is_floating(type.dtype)) types.parameters.push_back(type);
    }
    types.results = std::move(results);
    return std::make_shared<CallableFunction>(
        FunctionRef{name() + ".gradient",
                    std::make_shared<Signature>(std::move(types))},
        [callable = callable_, count = signature_.signature->parameters.size()](
            const std::vector<Value>& operands) {
          return gradient_of(callable, count, operands);
        });
  }

 private:
  // The first `count` operands are the callable's, the others what arrived at
  // its floating results.
  static std::vector<Value> gradient_of(const HostCallable& callable,
                                        std::size_t count,
                                        const std::vector<Value>& operands) {
    const auto split = operands.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<Value> own(operands.begin(), split);
    const std::vector<Value> seeds(split, operands.end());
    Tape tape;
    std::vector<Value> wrt;
    for (Value& operand : own) {
      if (!is_floating(operand.dtype())) continue;
      operand = tape.argument(operand);
      wrt.push_back(operand);
    }
    std::vector<Value> roots;
    // The callable runs a second time, under a tape: nothing of the first run
    // was kept, as it may have happened in a plan.
    for (const Value& result : callable(own)) {
      if (is_floating(result.dtype())) roots.push_back(result);
    }
    return tape.gradient(roots, seeds, wrt);
  }

  void check(const std::vector<Tensor>& results,
             const std::vector<TensorType>& wanted) const {
    bool fits = results.size() == wanted.size();
    for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
      fits = results[i].type() == wanted[i];
    }
    if (fits) return;
    Signature returned;
    for (const Tensor& result : results) {
      returned.results.push_back(result.type());
    }
    throw Error(ErrorCode::kInvalidArgument, name(),
                "the code returned something else than was declared")
        .detail("declared: " + to_string(*signature_.signature))
        .detail("returned: " + to_string(returned));
  }

  FunctionRef signature_;
  HostCallable callable_;
};

}  // namespace

std::vector<Value> host_func(HostCallable callable,
                             const std::vector<Value>& operands,
                             const std::vector<TensorType>& results,
                             std::string name, const Location& where) {
  // Eagerly it is a call like any other: tapes see the ops inside.
  if (current_context().builder() == nullptr) return callable(operands);
  static const OpDef& op = op_registry().get("host_func");
  Signature types;
  for (const Value& operand : operands) {
    types.parameters.push_back(operand.type());
  }
  types.results = results;
  const HostFunctionRef function = std::make_shared<CallableFunction>(
      FunctionRef{std::move(name),
                  std::make_shared<Signature>(std::move(types))},
      std::move(callable));
  return call_all(op, operands, {{"function", function}}, where);
}

}  // namespace weft
