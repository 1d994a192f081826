// A checker has looked at a model and lets it be used.
#include <algorithm>

#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_check_model(State& state, const Action& action) {
  const auto& checkers = state.genesis.checkers;
  if (std::ranges::find(checkers, action.account) == checkers.end()) {
    throw Error(ErrorCode::kInvalidArgument, "check_model",
                "{} is no checker of models", short_name(action.account));
  }
  Model& model = entry(state.models, action.fields.number("model"), "model");
  if (model.owner == action.account) {
    throw Error(ErrorCode::kInvalidArgument, "check_model",
                "nobody checks their own model");
  }
  model.is_active = action.fields.flag("approve");
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_check_model(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add({.name = "check_model",
                .summary = "activate a model or take it back (a checker)",
                .fields = {{.name = "model", .summary = "its number"},
                           {.name = "approve",
                            .kind = FieldKind::kFlag,
                            .summary = "or take back"}},
                .apply = market::apply_check_model});
}

}  // namespace weft
