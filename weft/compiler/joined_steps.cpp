#include "weft/compiler/joined_steps.h"

#include "weft/ops/join.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"

namespace weft {

bool has_steps(const MatchedNode& layer) {
  return layer.operand(0).shape[0] > 0;
}

bool are_alike_layers(const MatchView& match) {
  return match.attributes(0) == match.attributes(1);
}

JoinedSteps::JoinedSteps(const MatchView& match) {
  constexpr int kOutside = 7;
  const Value steps[] = {match.outside(0), match.outside(1)};
  std::vector<Value> operands = {concat(steps, 0)};
  for (int i = 2; i < kOutside; ++i) operands.push_back(match.outside(i));
  const Node& node = match.node(0).node;
  all_ = call_all(*node.op, operands, node.attributes, node.location);
  state_ = operands[1].shape();
  cut_ = steps[0].shape()[0];
  end_ = cut_ + steps[1].shape()[0];
}

Value JoinedSteps::first(std::size_t result) const {
  return part(result, 0, cut_);
}

Value JoinedSteps::second(std::size_t result) const {
  return part(result, cut_, end_);
}

Value JoinedSteps::state_between(std::size_t result) const {
  return reshape(part(result, cut_ - 1, cut_), state_);
}

Value JoinedSteps::part(std::size_t result, Dim from, Dim to) const {
  return slice_axis(all_[result], 0, from, to);
}

}  // namespace weft
