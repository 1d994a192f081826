#include "tests/support/single_runs.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

#include "weft/graph/text.h"
#include "weft/ops/join.h"
#include "weft/ops/reduce.h"
#include "weft/runtime/executable.h"

namespace weft::testing {
namespace {

std::int64_t instances_in(std::span<const bool> batched,
                          const std::vector<Tensor>& arguments) {
  const auto first = std::find(batched.begin(), batched.end(), true);
  return arguments[static_cast<std::size_t>(first - batched.begin())]
      .shape()[0];
}

// What instance `i` is given.
std::vector<Tensor> arguments_of(const Function& function,
                                 std::span<const bool> batched,
                                 const std::vector<Tensor>& arguments,
                                 std::int64_t i) {
  std::vector<Tensor> own = arguments;
  for (std::size_t p = 0; p < own.size(); ++p) {
    if (!batched[p]) continue;
    own[p] = arguments[p].slice(i, i + 1).reshape(
        function.type(function.parameters()[p]).shape);
  }
  return own;
}

// One result of all instances, stacked along a new leading axis.
Value stack(const std::vector<std::vector<Tensor>>& runs, std::size_t result) {
  std::vector<Value> rows;
  for (const auto& run : runs) {
    Shape shape{1};
    for (const Dim dim : run[result].shape()) shape.push_back(dim);
    rows.emplace_back(run[result].reshape(shape));
  }
  return concat(rows, 0);
}

}  // namespace

std::size_t count_of(const Function& function, std::string_view op) {
  return static_cast<std::size_t>(
      std::count_if(function.nodes().begin(), function.nodes().end(),
                    [&](const Node& node) { return node.op->name() == op; }));
}

void expect_equals_single_runs(const Function& function,
                               std::span<const bool> batched,
                               std::span<const BatchMode> modes,
                               const std::vector<Tensor>& arguments,
                               double length) {
  const std::int64_t instances = instances_in(batched, arguments);
  Executable single(function);
  std::vector<std::vector<Tensor>> runs;
  for (std::int64_t i = 0; i < instances; ++i) {
    runs.push_back(single.run(arguments_of(function, batched, arguments, i)));
  }
  Batched all = batch(function, batched, modes);
  SCOPED_TRACE(to_string(all.function));
  verify(all.function);
  const auto actual = Executable(std::move(all.function)).run(arguments);
  for (std::size_t result = 0; result < actual.size(); ++result) {
    SCOPED_TRACE(fmt::format("result {}", result));
    const bool is_summed = !modes.empty() && modes[result] == BatchMode::kSum;
    if (is_summed) {
      const Value sum_of_runs = sum(stack(runs, result), {0});
      expect_close(actual[result], sum_of_runs.tensor(),
                   length * static_cast<double>(instances));
    } else if (all.is_stacked[result]) {
      expect_close(actual[result], stack(runs, result).tensor(), length);
    } else {
      expect_close(actual[result], runs[0][result], length);
    }
  }
}

}  // namespace weft::testing
