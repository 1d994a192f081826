// A worker offers to run jobs: its price, its machine, and stake that it loses
// if it cheats. Offering again changes the price and adds stake.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void check_certificate(const State& state, const Fields& fields) {
  Signature certificate;
  const bool is_whole = from_hex(fields.text("certificate"), certificate);
  for (const PublicKey& vendor : state.genesis.vendors) {
    if (is_whole && is_certified(vendor, fields.key("machine"), certificate)) {
      return;
    }
  }
  throw Error(ErrorCode::kInvalidArgument, "offer",
              "no vendor of this market vouches for the machine");
}

void apply_offer(State& state, const Action& action) {
  const Fields& fields = action.fields;
  check_certificate(state, fields);
  const auto found = state.workers.find(action.account);
  if (found != state.workers.end() && found->second.job != 0) {
    throw Error(ErrorCode::kInvalidArgument, "offer",
                "the worker runs job {}, and changes nothing before it has "
                "reported",
                found->second.job);
  }
  for (const auto& [key, other] : state.workers) {
    if (key != action.account && other.machine == fields.key("machine")) {
      throw Error(ErrorCode::kInvalidArgument, "offer",
                  "the machine is another worker's");
    }
  }
  const Amount stake = fields.number("stake");
  state.take(action.account, stake);
  Worker& worker = state.workers[action.account];
  worker.machine = fields.key("machine");
  worker.price = fields.number("price");
  worker.tasks = {fields.texts("tasks").begin(), fields.texts("tasks").end()};
  worker.stake += stake;
  worker.is_active = true;
  if (worker.stake < state.genesis.least_stake) {
    action.notes.push_back(
        fmt::format("warning: a stake of {} is below {}, and gets no job",
                    worker.stake, state.genesis.least_stake));
  }
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_offer(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add(
      {.name = "offer",
       .summary = "offer to run jobs, at a price and with a stake",
       .fields = {{.name = "machine",
                   .kind = FieldKind::kKey,
                   .summary = "the key that its enclave signs reports with"},
                  {.name = "certificate",
                   .kind = FieldKind::kText,
                   .summary = "a vendor's signature of the machine"},
                  {.name = "price", .summary = "of a million units of work"},
                  {.name = "stake",
                   .summary = "money to lose, added to what there is"},
                  {.name = "tasks",
                   .kind = FieldKind::kTexts,
                   .summary = "that it takes; none: all",
                   .is_optional = true}},
       .apply = market::apply_offer});
}

}  // namespace weft
