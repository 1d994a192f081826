// Steps of one LSTM that follow each other are a sequence, whose products with
// x need not wait for the state, and whose weights stay where they are packed.
// What a model unrolls, or an exporter for it, becomes the layer again.
#include "weft/compiler/joined_steps.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

std::vector<Value> as_lstm_sequence(const MatchView& match) {
  const JoinedSteps joined(match);
  // The results are y, the last h and c, gates and cells; of the first node the
  // last ones are among those of all steps.
  return {joined.first(0), joined.state_between(0), joined.state_between(4),
          joined.first(3), joined.first(4),         joined.second(0),
          joined.whole(1), joined.whole(2),         joined.second(3),
          joined.second(4)};
}

}  // namespace

void register_rule_join_lstm_steps(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpDef& lstm = op_registry().get("lstm");
  rules.add({
      .name = "join_lstm_steps",
      .summary = "makes one lstm of two, the second of which goes on where the "
                 "first ended",
      .use = RuleUse::kAlways,
      .order = 86,
      // Products are added up in another order.
      .pattern = {{.ops = {&lstm},
                   .operands = {Operand::outside(0), Operand::outside(2),
                                Operand::outside(3), Operand::outside(4),
                                Operand::outside(5), Operand::outside(6)},
                   .role = PatternRole::kResult,
                   .holds = has_steps},
                  {.ops = {&lstm},
                   .operands = {Operand::outside(1), Operand::of(0, 1),
                                Operand::of(0, 2), Operand::outside(4),
                                Operand::outside(5), Operand::outside(6)},
                   .role = PatternRole::kResult,
                   .holds = has_steps}},
      .holds = are_alike_layers,
      .make = as_lstm_sequence,
      .samples =
          {{R"(func @f(%0: f32[1, 1, 2], %1: f32[2, 1, 2], %2: f32[1, 1], %3: f32[1, 1], %4: f32[2, 4], %5: f32[1, 4], %6: f32[4]) -> (f32[1, 1], f32[2, 1, 1], f32[1, 1], f32[1, 1]) {
    %7, %8, %9, %10, %11 = lstm(%0, %2, %3, %4, %5, %6) : f32[1, 1, 1], f32[1, 1], f32[1, 1], f32[1, 1, 4], f32[1, 1, 1]
    %12, %13, %14, %15, %16 = lstm(%1, %8, %9, %4, %5, %6) : f32[2, 1, 1], f32[1, 1], f32[1, 1], f32[2, 1, 4], f32[2, 1, 1]
    return %8, %12, %9, %14
  })",
            R"(func @f(%0: f32[1, 1, 2], %1: f32[2, 1, 2], %2: f32[1, 1], %3: f32[1, 1], %4: f32[2, 4], %5: f32[1, 4], %6: f32[4]) -> (f32[1, 1], f32[2, 1, 1], f32[1, 1], f32[1, 1]) {
    %7 = concat(%0, %1) {axis = 0} : f32[3, 1, 2]
    %8, %9, %10, %11, %12 = lstm(%7, %2, %3, %4, %5, %6) : f32[3, 1, 1], f32[1, 1], f32[1, 1], f32[3, 1, 4], f32[3, 1, 1]
    %13 = slice(%8) {begin = [0, 0, 0], end = [1, 9223372036854775807, 9223372036854775807]} : f32[1, 1, 1]
    %14 = reshape(%13) {shape = shape[1, 1]} : f32[1, 1]
    %15 = slice(%12) {begin = [0, 0, 0], end = [1, 9223372036854775807, 9223372036854775807]} : f32[1, 1, 1]
    %16 = reshape(%15) {shape = shape[1, 1]} : f32[1, 1]
    %17 = slice(%8) {begin = [1, 0, 0], end = [3, 9223372036854775807, 9223372036854775807]} : f32[2, 1, 1]
    return %14, %17, %16, %10
  })"},
           // The second waits for what the first has made.
           {R"(func @f(%0: f32[1, 1, 1], %1: f32[1, 1], %2: f32[1, 1], %3: f32[1, 4], %4: f32[1, 4], %5: f32[4]) -> (f32[1, 1]) {
    %6, %7, %8, %9, %10 = lstm(%0, %1, %2, %3, %4, %5) : f32[1, 1, 1], f32[1, 1], f32[1, 1], f32[1, 1, 4], f32[1, 1, 1]
    %11, %12, %13, %14, %15 = lstm(%6, %7, %8, %3, %4, %5) : f32[1, 1, 1], f32[1, 1], f32[1, 1], f32[1, 1, 4], f32[1, 1, 1]
    return %12
  })"},
           // Another cell's weights.
           {R"(func @f(%0: f32[1, 1, 1], %1: f32[1, 1], %2: f32[1, 1], %3: f32[1, 4], %4: f32[1, 4], %5: f32[4]) -> (f32[1, 1]) {
    %6, %7, %8, %9, %10 = lstm(%0, %1, %2, %3, %4, %5) : f32[1, 1, 1], f32[1, 1], f32[1, 1], f32[1, 1, 4], f32[1, 1, 1]
    %11, %12, %13, %14, %15 = lstm(%0, %7, %8, %4, %3, %5) : f32[1, 1, 1], f32[1, 1], f32[1, 1], f32[1, 1, 4], f32[1, 1, 1]
    return %12
  })"}},
  });
}

}  // namespace weft
