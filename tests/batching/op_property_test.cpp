// Every op over three instances equals three single runs, whichever of its
// operands the instances differ in; so do sums over the instances. What cannot
// be batched says so, and stands in a table here with the reason.
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "tests/support/op_case.h"
#include "tests/support/single_runs.h"

#include "weft/graph/builder.h"
#include "weft/ops/ops.h"

namespace weft::testing::op_property_test {
namespace {

constexpr std::int64_t kInstances = 3;
constexpr std::size_t kMostSubsets = 7;

// Ops that have no batching rule and lower to no others. Where none of their
// operands is batched they are computed once, for all instances.
const std::map<std::string, std::string>& ops_without_rule() {
  constexpr auto kNoOperands = "it has no operands that could differ";
  constexpr auto kHost = "the program's code takes one instance at a time";
  constexpr auto kCollective = "ranks would have to agree on the instances";
  constexpr auto kControl = "the executor runs it: no region holds it";
  static const std::map<std::string, std::string> reasons = {
      {"constant", kNoOperands},   {"full", kNoOperands},
      {"iota", kNoOperands},       {"element_count", kNoOperands},
      {"all_reduce", kCollective}, {"reduce_scatter", kCollective},
      {"all_gather", kCollective}, {"call", kControl},
      {"cond", kControl},          {"while", kControl},
      {"scan", kControl},          {"call_enter", kControl},
      {"call_reenter", kControl},  {"cond_enter", kControl},
      {"cond_reenter", kControl},  {"host_func", kHost},
  };
  return reasons;
}

// Calls that a rule refuses, or the lowered form of an op.
const std::map<std::string, std::string>& refusals() {
  static const std::map<std::string, std::string> messages = {
      {"conv2d", "differ in more than the images"},
      {"conv2d_input_gradient", "differ in more than the images"},
      {"clamped_conv2d", "differ in more than the images"},
      {"conv2d_of_parts", "differ in more than the images"},
      {"conv2d_onto", "differ in more than the images"},
      {"integer_conv2d", "differ in more than the images"},
  };
  return messages;
}

bool has_rule(const OpDef& op) {
  return op.batch() != nullptr || op.lower() != nullptr;
}

Function function_of(const OpCase& c) {
  FunctionBuilder builder("one", /*lower_composites=*/false);
  std::vector<Value> parameters;
  for (const TensorType& type : c.input_types()) {
    parameters.push_back(builder.parameter(type));
  }
  return builder.build(
      [&] { return call_all(c.op(), parameters, c.attributes(), Location()); });
}

// Sets of operands as bits: all of few; of many, each alone, all, and some.
std::vector<unsigned> subsets(std::size_t operands) {
  const unsigned all = (1u << operands) - 1;
  std::vector<unsigned> result;
  if (all <= kMostSubsets) {
    for (unsigned bits = 1; bits <= all; ++bits) result.push_back(bits);
    return result;
  }
  for (unsigned i = 0; i < operands; ++i) result.push_back(1u << i);
  result.insert(result.end(), {all, all & 0x555u, all & 0x666u});
  return result;
}

class Instances {
 public:
  Instances(const OpCase& c, unsigned bits)
      : batched_(std::make_unique<bool[]>(c.inputs().size())),
        count_(c.inputs().size()) {
    for (std::size_t i = 0; i < count_; ++i) {
      batched_[i] = (bits >> i & 1u) != 0;
      arguments_.push_back(batched_[i] ? stack_of(c.sample().inputs[i], i)
                                       : c.inputs()[i]);
    }
  }

  std::span<const bool> batched() const { return {batched_.get(), count_}; }
  const std::vector<Tensor>& arguments() const { return arguments_; }

 private:
  static Tensor stack_of(InputSample sample, std::size_t seed) {
    Shape shape{kInstances};
    for (const Dim dim : sample.type.shape) shape.push_back(dim);
    sample.type.shape = shape;
    return random_tensor(sample, 50 + seed);
  }

  std::unique_ptr<bool[]> batched_;
  std::size_t count_;
  std::vector<Tensor> arguments_;
};

// Numbers are summed where that is asked for; bools have no sum.
std::vector<BatchMode> modes_of(const OpCase& c, BatchMode mode) {
  std::vector<BatchMode> modes;
  for (const TensorType& type : c.output_types()) {
    modes.push_back(type.dtype == DType::kBool ? BatchMode::kStack : mode);
  }
  return modes;
}

void check_all_ops(BatchMode mode) {
  std::set<std::string> refused;
  for_each_case([&](const OpCase& c) {
    if (!has_rule(c.op())) return;
    const Function function = function_of(c);
    for (const unsigned bits : subsets(c.inputs().size())) {
      SCOPED_TRACE(fmt::format("batched operands {:b}", bits));
      const Instances instances(c, bits);
      try {
        // A composite rounds after each of its ops.
        expect_equals_single_runs(function, instances.batched(),
                                  modes_of(c, mode), instances.arguments(),
                                  4 * c.reduction_length());
      } catch (const Error& error) {
        const auto expected = refusals().find(c.op().name());
        if (error.code() != ErrorCode::kUnsupported ||
            expected == refusals().end()) {
          throw;
        }
        EXPECT_NE(std::string(error.what()).find(expected->second),
                  std::string::npos)
            << error.what();
        refused.insert(c.op().name());
      }
    }
  });
  for (const auto& [op, message] : refusals()) {
    EXPECT_TRUE(refused.contains(op)) << op << " refuses nothing any more";
  }
}

TEST(BatchedOps, StackedEqualSingleRuns) { check_all_ops(BatchMode::kStack); }

TEST(BatchedOps, SummedEqualSumsOfSingleRuns) {
  check_all_ops(BatchMode::kSum);
}

TEST(BatchedOps, HaveARuleOrAReason) {
  for (const OpDef& op : op_registry().all()) {
    const bool is_listed = ops_without_rule().contains(op.name());
    EXPECT_NE(has_rule(op), is_listed)
        << op.name()
        << (is_listed ? " has a rule: take it off the list"
                      : " needs a batching rule, or an entry that says why "
                        "it has none");
  }
}

}  // namespace
}  // namespace weft::testing::op_property_test
