#include "weft/runtime/executable.h"

namespace weft {
namespace {

[[noreturn]] void fail_argument(const Function& function, std::size_t index,
                                const std::string& got) {
  const ValueInfo& value = function.value(function.parameters()[index]);
  throw Error(ErrorCode::kInvalidArgument, "@" + function.name(),
              fmt::format("the argument {} does not fit",
                          value.name.empty() ? fmt::format("{}", index)
                                             : "'" + value.name + "'"))
      .detail("wanted: " + to_string(value.type))
      .detail("got:    " + got);
}

}  // namespace

struct Executable::State {
  struct Planned {
    std::vector<TensorType> arguments;
    Plan plan;
  };

  State(Function f, ExecutableOptions o)
      : function(std::move(f)), options(std::move(o)) {}

  Planned& find(std::span<const Tensor> arguments);

  Function function;
  ExecutableOptions options;
  // Few in number: one per combination of shapes.
  std::vector<std::unique_ptr<Planned>> plans;
  Tensor arena;  // shared by all plans, as large as the largest needs
  std::vector<void*> argument_pointers;
  std::vector<void*> result_pointers;
};

Executable::Executable(Function function, ExecutableOptions options)
    : state_(std::make_unique<State>(std::move(function), std::move(options))) {
  verify(state_->function);
  const Function& f = state_->function;
  for (const auto& [parameter, result] : state_->options.donated) {
    WEFT_CHECK(parameter < f.parameters().size() &&
               result < f.results().size());
    const TensorType& from = f.type(f.parameters()[parameter]);
    const TensorType& to = f.type(f.results()[result]);
    if (!(from == to)) {
      throw Error(ErrorCode::kInvalidArgument, "@" + f.name(),
                  "the parameter '{}' cannot be donated to result {}",
                  f.value(f.parameters()[parameter]).name, result)
          .detail("parameter: " + to_string(from))
          .detail("result:    " + to_string(to));
    }
  }
  state_->argument_pointers.resize(f.parameters().size());
  state_->result_pointers.resize(f.results().size());
}

Executable::~Executable() = default;
Executable::Executable(Executable&&) noexcept = default;

const Function& Executable::function() const { return state_->function; }

Executable::State::Planned& Executable::State::find(
    std::span<const Tensor> arguments) {
  for (const auto& planned : plans) {
    bool fits = planned->arguments.size() == arguments.size();
    for (std::size_t i = 0; fits && i < arguments.size(); ++i) {
      fits = planned->arguments[i] == arguments[i].type();
    }
    if (fits) return *planned;
  }
  if (arguments.size() != function.parameters().size()) {
    throw Error(ErrorCode::kInvalidArgument, "@" + function.name(),
                "takes {} arguments, got {}", function.parameters().size(),
                arguments.size());
  }
  Bindings bindings;
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TensorType& wanted = function.type(function.parameters()[i]);
    if (wanted.dtype != arguments[i].dtype() ||
        !match(wanted.shape, arguments[i].shape(), bindings)) {
      fail_argument(function, i, to_string(arguments[i].type()));
    }
    types.push_back(arguments[i].type());
  }
  Plan plan(specialize(function, bindings),
            {options.donated, options.fuse && !options.check_numerics,
             options.check_numerics});
  const std::size_t bytes = plan.arena_bytes();
  if (!arena.is_defined() || arena.bytes() < bytes) {
    arena = Tensor();  // free the old one before the new one is taken
    arena = Tensor::empty({DType::kU8, {static_cast<Dim>(bytes)}});
  }
  plans.push_back(
      std::make_unique<Planned>(Planned{std::move(types), std::move(plan)}));
  return *plans.back();
}

Plan& Executable::plan_for(std::span<const Tensor> arguments) {
  return state_->find(arguments).plan;
}

std::vector<TensorType> Executable::result_types(
    std::span<const Tensor> arguments) {
  return state_->find(arguments).plan.result_types();
}

void Executable::run(std::span<const Tensor> arguments,
                     std::span<const Tensor> results,
                     ResultObserver* observer) {
  State& state = *state_;
  State::Planned& planned = state.find(arguments);
  const auto& types = planned.plan.result_types();
  if (results.size() != types.size()) {
    throw Error(ErrorCode::kInvalidArgument, "@" + state.function.name(),
                "returns {} results, got room for {}", types.size(),
                results.size());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!(results[i].type() == types[i])) {
      throw Error(ErrorCode::kInvalidArgument, "@" + state.function.name(),
                  "result {} is {}, got room for {}", i, to_string(types[i]),
                  to_string(results[i].type()));
    }
    state.result_pointers[i] = results[i].raw();
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    state.argument_pointers[i] = arguments[i].raw();
  }
  for (const auto& [parameter, result] : state.options.donated) {
    WEFT_CHECK(
        state.argument_pointers[parameter] == state.result_pointers[result],
        "a donated result must be the argument it overwrites");
  }
  planned.plan.run(state.argument_pointers, state.result_pointers,
                   state.arena.raw(), observer);
}

std::vector<Tensor> Executable::run(std::span<const Tensor> arguments) {
  std::vector<Tensor> results;
  for (const TensorType& type : result_types(arguments)) {
    results.push_back(Tensor::empty(type));
  }
  for (const auto& [parameter, result] : state_->options.donated) {
    results[result] = arguments[parameter];
  }
  run(arguments, results);
  return results;
}

}  // namespace weft
