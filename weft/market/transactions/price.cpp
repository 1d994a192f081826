// The owner of an association sets what its data cost.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_price(State& state, const Action& action) {
  Database& database =
      entry(state.databases, action.fields.number("database"), "database");
  if (entry(state.associations, database.association, "association").owner !=
      action.account) {
    throw Error(ErrorCode::kInvalidArgument, "price",
                "only the association's owner may change it");
  }
  // What a job costs that has begun must not change.
  for (const std::int64_t number : state.live_jobs) {
    for (const std::int64_t shard : entry(state.jobs, number, "job").shards) {
      if (entry(state.shards, shard, "shard").database ==
          action.fields.number("database")) {
        throw Error(ErrorCode::kInvalidArgument, "price",
                    "job {} reads the database at the old one", number);
      }
    }
  }
  database.price = action.fields.number("price");
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_price(market::TransactionRegistry& registry) {
  registry.add(
      {.name = "price",
       .summary = "change what a database costs (its association's owner)",
       .fields = {{.name = "database", .summary = "its number"},
                  {.name = "price",
                   .summary = "of a thousand reads of an example"}},
       .apply = market::apply_price});
}

}  // namespace weft
