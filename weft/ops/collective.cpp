#include "weft/ops/collective.h"

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/moves.h"
#include "weft/ops/support/samples.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// A group of one needs no network. Larger ones run by kernels/cpu. This runs
// where a program is built for several ranks and groups have one member each:
// the sum over one member is the member's own x.
void group_of_one_reference(const OpCall& call,
                            std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs) {
  WEFT_CHECK(call.attributes.integer("group_size") == 1);
  const std::size_t bytes = inputs[0].type.bytes();
  if (bytes > 0) std::memcpy(outputs[0].data, inputs[0].data, bytes);
}

// The size of the groups, which must be a partition of the ranks.
std::int64_t checked_group_size(const OpCall& call) {
  const Integers& ranks = call.attributes.integers("groups");
  const std::int64_t size = call.attributes.integer("group_size");
  const auto count = static_cast<std::int64_t>(ranks.size());
  if (size < 1 || count == 0 || count % size != 0) {
    throw call.error("{} ranks do not make groups of {}", count, size);
  }
  std::vector<bool> seen(ranks.size(), false);
  for (const std::int64_t rank : ranks) {
    // A rank that is in no group, or in two, would wait for ever.
    if (rank < 0 || rank >= count || seen[static_cast<std::size_t>(rank)]) {
      throw call.error("the groups do not hold each rank once")
          .hint("list the ranks from 0, group after group");
    }
    seen[static_cast<std::size_t>(rank)] = true;
  }
  return size;
}

// Ranks add in the precision that a message has: narrow integers would wrap.
void require_sum(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (is_floating(dtype) || size_of(dtype) >= size_of(DType::kI32)) return;
  throw call.error("there are no sums of {} across ranks", to_string(dtype))
      .hint("convert it with cast() to i32");
}

Dim leading_axis(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  if (shape.rank() == 0) throw call.error("a scalar has no leading axis");
  return shape[0];
}

std::vector<TensorType> infer_all_reduce(const OpCall& call) {
  // Groups are checked where types are inferred: every rank refuses a wrong
  // partition at once, before any of them waits for another.
  checked_group_size(call);
  require_sum(call);
  return {call.input(0)};
}

std::vector<TensorType> infer_reduce_scatter(const OpCall& call) {
  const std::int64_t members = checked_group_size(call);
  require_sum(call);
  const Dim whole = leading_axis(call);
  // Parts are equal, so that every rank knows where each begins.
  const auto part = dim_divide_exactly(whole, members);
  if (!part) {
    throw call.error("the leading axis, {}, is not known to split into {}",
                     to_string(whole), members);
  }
  TensorType y = call.input(0);
  y.shape[0] = *part;
  return {y};
}

std::vector<TensorType> infer_all_gather(const OpCall& call) {
  const std::int64_t members = checked_group_size(call);
  TensorType y = call.input(0);
  y.shape[0] = dim_multiply(leading_axis(call), members);
  return {y};
}

// With p members and x the larger of operand and result, a rank adds and moves
// (p - 1) / p of x, as no algorithm can avoid (Patarasuk and Yuan, 2009); the
// bytes are those of memory. An all_reduce made of a reduce_scatter and an
// all_gather moves that much in each of the two.
Cost sum_cost(const OpCall& call) {
  const auto members =
      static_cast<double>(call.attributes.integer("group_size"));
  const auto elements = static_cast<double>(call.input(0).shape.num_elements());
  return Cost::of(call, elements * (members - 1) / members);
}

// The gradient is that of the sum of all ranks' losses: what a rank's x adds to
// another's y comes back from there. With y_r = Σ_s x_s over the members s of a
// group and L = Σ_r L_r, dx_s = Σ_r dy_r: an all_reduce of the gradients.
Gradients all_reduce_gradient(const GradientContext& g) {
  return {all_reduce(g.dy(), RankGroups::of(g.attributes()))};
}
// Member r has part r of the sum, so each member's whole x gets the parts of
// all dy: the transpose is an all_gather.
Gradients reduce_scatter_gradient(const GradientContext& g) {
  return {all_gather(g.dy(), RankGroups::of(g.attributes()))};
}
// Every member has a copy of x_s, so dx_s is the sum over the members of part s
// of their dy.
Gradients all_gather_gradient(const GradientContext& g) {
  return {reduce_scatter(g.dy(), RankGroups::of(g.attributes()))};
}

// Groups of one member: more need a network.
std::vector<OpSample> collective_samples() {
  const auto alone = [](InputSample x, Integers ranks) {
    return OpSample{{std::move(x)},
                    RankGroups{std::move(ranks), 1}.attributes()};
  };
  return {alone(floats({4, 3}), {0}), alone(floats({6}), {1, 0, 2}),
          alone(floats({0, 2}), {0}),
          alone(floats({5}, -1, 1, DType::kBF16), {0, 1}),
          alone(integers({3, 2}, -9, 9), {0})};
}

// There is no batching rule: the ranks would have to agree on how many
// instances there are, and in which order.
OpDef& add_collective(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .signature("(x) -> y")
      .required("groups", Integers{})
      .required("group_size", std::int64_t{1})
      .traits(kCollective)
      .reference(group_of_one_reference)
      .samples(collective_samples);
}

Value call_collective(const OpDef& op, const Operand& x,
                      const RankGroups& groups) {
  return call(op, {x.value}, groups.attributes(), x.location);
}

}  // namespace

void register_collective(OpRegistry& ops) {
  add_collective(ops, "all_reduce")
      .summary("the sum over the ranks of a group")
      .infer(infer_all_reduce)
      .gradient(all_reduce_gradient)
      .cost(sum_cost);
  add_collective(ops, "reduce_scatter")
      .summary("the rank's part of the sum over the ranks of a group")
      .infer(infer_reduce_scatter)
      .gradient(reduce_scatter_gradient)
      .cost(sum_cost);
  add_collective(ops, "all_gather")
      .summary("the tensors of the ranks of a group, one after another")
      .infer(infer_all_gather)
      .gradient(all_gather_gradient)
      // Nothing is added in an all_gather, only moved.
      .cost(move_cost);
}

Value all_reduce(const Operand& x, const RankGroups& groups) {
  static const OpDef& op = op_registry().get("all_reduce");
  return call_collective(op, x, groups);
}

Value reduce_scatter(const Operand& x, const RankGroups& groups) {
  static const OpDef& op = op_registry().get("reduce_scatter");
  return call_collective(op, x, groups);
}

Value all_gather(const Operand& x, const RankGroups& groups) {
  static const OpDef& op = op_registry().get("all_gather");
  return call_collective(op, x, groups);
}

}  // namespace weft
