#include "weft/train/step/example_sums.h"

#include <algorithm>
#include <array>

#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/join.h"
#include "weft/ops/random.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// A key for each example, i64[N, 2]: what they draw, as dropout does, has
// nothing to do with each other. Their seeds follow on one that is drawn for
// the step, by their places in the batch of all workers.
Value keys_of(const Value& key, Dim rows, const Value& first) {
  const Value numbers = reshape(iota(rows) + first, {rows, 1});
  const std::array columns{numbers, zeros_like(numbers)};
  return split_key(key, 1) + concat(columns, 1);
}

bool has_control(const Function& function) {
  return std::ranges::any_of(function.nodes(), [](const Node& node) {
    return node.op->has(kControl);
  });
}

}  // namespace

Value ExampleSums::total(std::size_t other) const {
  const Value& each = clipped.others[other];
  Shape column = weights.shape();
  column.resize(each.shape().rank());
  return sum(each * reshape(weights, column), {0});
}

Value ExampleSums::broken() const {
  const Value which = logical_and(greater(weights, zeros_like(weights)),
                                  logical_not(is_finite(clipped.norms)));
  const Value first = argmax(cast(which, DType::kF32), 0);
  return where(any(which), first, scalar_like(first, -1));
}

Error broken_example(std::int64_t place) {
  return Error(ErrorCode::kNumeric, "private training",
               "the gradients of example {} of the batch are not finite, and "
               "cannot be clipped",
               place + 1);
}

TensorType of_one(const TensorType& batch) {
  TensorType type = batch;
  type.shape[0] = 1;
  return type;
}

ExampleSums example_sums(Program& program, const Function& example,
                         const PrivateBatch& batch, std::size_t gradients,
                         double clip_norm) {
  const auto told = [&](int what) {
    return reshape(slice_axis(batch.present, 0, what, what + 1), {});
  };
  const Dim rows = batch.tensors.at(0).shape()[0];
  std::vector<Value> arguments = batch.shared;
  std::vector<bool> is_batched(arguments.size(), false);
  arguments.push_back(keys_of(batch.key, rows, cast(told(1), DType::kI64)));
  for (const Value& tensor : batch.tensors) {
    std::vector<Dim> dims{rows, 1};
    const auto& own = tensor.shape().dims();
    dims.insert(dims.end(), own.begin() + 1, own.end());
    arguments.push_back(reshape(tensor, Shape(dims)));
  }
  is_batched.resize(arguments.size(), true);
  ExampleSums made;
  made.weights = cast(less(iota(rows, DType::kF64), told(0)), DType::kF32);
  made.clipped =
      has_control(example)
          ? clipped_control_sums(program, program.add(example), arguments,
                                 is_batched, gradients, clip_norm, made.weights)
          : clipped_sums(*current_context().builder(), example, arguments,
                         is_batched, gradients, clip_norm, made.weights);
  return made;
}

}  // namespace weft
