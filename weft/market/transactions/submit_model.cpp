// Somebody offers a model that is made from a database; a checker activates it.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_submit_model(State& state, const Action& action) {
  const Fields& fields = action.fields;
  entry(state.databases, fields.number("database"), "database");
  state.models.push_back({.owner = action.account,
                          .database = fields.number("database"),
                          .title = fields.text("title"),
                          .description = fields.key("description"),
                          .content = fields.key("content"),
                          .extractor = fields.key("extractor")});
  action.notes.push_back(
      fmt::format("model {} waits for a checker", state.models.size()));
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_submit_model(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add(
      {.name = "submit_model",
       .summary = "offer a model, which a checker must activate",
       .fields = {{.name = "database", .summary = "that it is of"},
                  {.name = "title",
                   .kind = FieldKind::kText,
                   .summary = "its name"},
                  {.name = "description",
                   .kind = FieldKind::kKey,
                   .summary = "digest of what is said of it"},
                  {.name = "content",
                   .kind = FieldKind::kKey,
                   .summary = "digest of the model"},
                  {.name = "extractor",
                   .kind = FieldKind::kKey,
                   .summary = "digest of what makes examples of the data"}},
       .apply = market::apply_submit_model});
}

}  // namespace weft
