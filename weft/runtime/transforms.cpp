#include "weft/runtime/transforms.h"

#include "weft/ops/constant.h"

namespace weft {
namespace {

bool has_gradient(const Value& value) { return is_floating(value.dtype()); }

// `given`, with zeros for what is undefined, of the floating ones of `like`.
std::vector<Value> completed(const std::vector<Value>& given,
                             const std::vector<Value>& like, const char* what) {
  if (given.size() != like.size()) {
    throw Error(ErrorCode::kInvalidArgument, what, "{} values where {} are due",
                given.size(), like.size());
  }
  std::vector<Value> complete;
  for (std::size_t i = 0; i < like.size(); ++i) {
    if (!has_gradient(like[i])) continue;
    if (given[i].is_defined() && given[i].type() != like[i].type()) {
      throw Error(ErrorCode::kInvalidArgument, what, "value {} is {}, not {}",
                  i, to_string(given[i].type()), to_string(like[i].type()));
    }
    complete.push_back(given[i].is_defined() ? given[i] : zeros_like(like[i]));
  }
  return complete;
}

std::vector<Value> floating(const std::vector<Value>& values) {
  std::vector<Value> found;
  for (const Value& value : values) {
    if (has_gradient(value)) found.push_back(value);
  }
  return found;
}

// `values` in the places of the floating ones of `like`, and nothing elsewhere.
std::vector<Value> spread(const std::vector<Value>& values,
                          const std::vector<Value>& like) {
  std::vector<Value> all(like.size());
  for (std::size_t i = 0, next = 0; i < like.size(); ++i) {
    if (has_gradient(like[i])) all[i] = values[next++];
  }
  return all;
}

void watch_floating(Tape& tape, std::vector<Value>& values) {
  for (Value& value : values) {
    if (has_gradient(value)) tape.watch(value);
  }
}

void take_arguments(Tape& tape, std::vector<Value>& values) {
  for (Value& value : values) {
    if (has_gradient(value)) value = tape.argument(value);
  }
}

}  // namespace

std::vector<Value> PullBack::operator()(const std::vector<Value>& seeds) const {
  const std::vector<Value> complete = completed(seeds, outputs_, "vjp");
  return spread(
      tape_->gradient(floating(outputs_), complete, floating(arguments_)),
      arguments_);
}

Vjp vjp(const Callable& function, std::vector<Value> arguments) {
  PullBack pull_back;
  // The tape is kept, as the caller may ask for several seeds.
  pull_back.tape_ = std::make_shared<Tape>(TapeOptions{.is_persistent = true});
  take_arguments(*pull_back.tape_, arguments);
  pull_back.outputs_ = function(arguments);
  // What comes after is none of its business.
  pull_back.tape_->stop();
  pull_back.arguments_ = std::move(arguments);
  std::vector<Value> outputs = pull_back.outputs_;
  return {std::move(outputs), std::move(pull_back)};
}

Jvp jvp(const Callable& function, std::vector<Value> arguments,
        const std::vector<Value>& tangents) {
  const std::vector<Value> moved = completed(tangents, arguments, "jvp");
  Tape outer;  // sees the gradient as a function of its seeds
  std::vector<Value> outputs, gradient, seeds;
  {
    // A staged function keeps its run for as many tapes as see its arguments.
    take_arguments(outer, arguments);
    Tape inner;
    watch_floating(inner, arguments);
    outputs = function(arguments);
    // Whatever the seeds are: the gradient is linear in them.
    for (const Value& output : floating(outputs)) {
      seeds.push_back(zeros_like(output));
    }
    watch_floating(outer, seeds);
    gradient = inner.gradient(floating(outputs), seeds, floating(arguments));
  }
  // The gradient of a gradient by its seeds is the tangent: two reverse passes
  // make one forward (Townsend, "A new trick for calculating Jacobian vector
  // products", 2017).
  return {outputs, spread(outer.gradient(gradient, moved, seeds), outputs)};
}

}  // namespace weft
