// Steps of one gated recurrent unit that follow each other become a sequence,
// as those of an LSTM do (join_lstm_steps.cpp).
#include "weft/compiler/joined_steps.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

std::vector<Value> as_gru_sequence(const MatchView& match) {
  const JoinedSteps joined(match);
  // The results are y, the last h and gates.
  return {joined.first(0),  joined.state_between(0), joined.first(2),
          joined.second(0), joined.whole(1),         joined.second(2)};
}

}  // namespace

void register_rule_join_gru_steps(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpDef& gru = op_registry().get("gru");
  rules.add({
      .name = "join_gru_steps",
      .summary = "makes one gru of two, the second of which goes on where the "
                 "first ended",
      .use = RuleUse::kAlways,
      .order = 88,
      // Products are added up in another order.
      .pattern = {{.ops = {&gru},
                   .operands = {Operand::outside(0), Operand::outside(2),
                                Operand::outside(3), Operand::outside(4),
                                Operand::outside(5), Operand::outside(6)},
                   .role = PatternRole::kResult,
                   .holds = has_steps},
                  {.ops = {&gru},
                   .operands = {Operand::outside(1), Operand::of(0, 1),
                                Operand::outside(3), Operand::outside(4),
                                Operand::outside(5), Operand::outside(6)},
                   .role = PatternRole::kResult,
                   .holds = has_steps}},
      .holds = are_alike_layers,
      .make = as_gru_sequence,
      .samples =
          {{R"(func @f(%0: f32[1, 1, 2], %1: f32[1, 1, 2], %2: f32[1, 1], %3: f32[2, 3], %4: f32[1, 3], %5: f32[3], %6: f32[3]) -> (f32[1, 1], f32[1, 1]) {
    %7, %8, %9 = gru(%0, %2, %3, %4, %5, %6) : f32[1, 1, 1], f32[1, 1], f32[1, 1, 4]
    %10, %11, %12 = gru(%1, %8, %3, %4, %5, %6) : f32[1, 1, 1], f32[1, 1], f32[1, 1, 4]
    return %8, %11
  })",
            R"(func @f(%0: f32[1, 1, 2], %1: f32[1, 1, 2], %2: f32[1, 1], %3: f32[2, 3], %4: f32[1, 3], %5: f32[3], %6: f32[3]) -> (f32[1, 1], f32[1, 1]) {
    %7 = concat(%0, %1) {axis = 0} : f32[2, 1, 2]
    %8, %9, %10 = gru(%7, %2, %3, %4, %5, %6) : f32[2, 1, 1], f32[1, 1], f32[2, 1, 4]
    %11 = slice(%8) {begin = [0, 0, 0], end = [1, 9223372036854775807, 9223372036854775807]} : f32[1, 1, 1]
    %12 = reshape(%11) {shape = shape[1, 1]} : f32[1, 1]
    return %12, %9
  })"},
           // The second waits for what the first has made.
           {R"(func @f(%0: f32[1, 1, 1], %1: f32[1, 1], %2: f32[1, 3], %3: f32[1, 3], %4: f32[3], %5: f32[3]) -> (f32[1, 1]) {
    %6, %7, %8 = gru(%0, %1, %2, %3, %4, %5) : f32[1, 1, 1], f32[1, 1], f32[1, 1, 4]
    %9, %10, %11 = gru(%6, %7, %2, %3, %4, %5) : f32[1, 1, 1], f32[1, 1], f32[1, 1, 4]
    return %10
  })"}},
  });
}

}  // namespace weft
