#include "weft/market/state.h"

#include "weft/market/transaction_def.h"

namespace weft::market {

Amount State::balance_of(const PublicKey& account) const {
  const auto found = accounts.find(account);
  return found == accounts.end() ? 0 : found->second.balance;
}

void State::take(const PublicKey& account, Amount amount) {
  WEFT_CHECK(amount >= 0);
  const Amount balance = balance_of(account);
  if (balance < amount) {
    throw Error(ErrorCode::kInvalidArgument, "balance",
                "{} has {}, less than {}", short_name(account), balance,
                amount);
  }
  if (amount > 0) accounts.at(account).balance -= amount;
}

void State::give(const PublicKey& account, Amount amount) {
  // All balances together are at most kMostAmount: deposits see to it.
  WEFT_CHECK(amount >= 0);
  if (amount > 0) accounts[account].balance += amount;
}

void check_money(const State& state) {
  Amount sum = 0;
  for (const auto& [key, account] : state.accounts) {
    WEFT_CHECK(account.balance >= 0, "{} owes money", short_name(key));
    sum += account.balance;
  }
  for (const Association& association : state.associations) {
    sum += association.money();
  }
  for (const Job& job : state.jobs) {
    WEFT_CHECK(job.escrow >= 0);
    sum += job.escrow;
  }
  for (const auto& [key, worker] : state.workers) {
    WEFT_CHECK(worker.stake >= 0);
    sum += worker.stake;
  }
  WEFT_CHECK(sum == state.money, "{} is there, and {} was taken in", sum,
             state.money);
}

void apply_request(State& state, const Request& request,
                   std::vector<std::string>& notes) {
  if (request.market != state.market) {
    throw Error(ErrorCode::kInvalidArgument, "transaction",
                "is of another market");
  }
  const auto found = state.accounts.find(request.account);
  const std::int64_t due =
      found == state.accounts.end() ? 0 : found->second.nonce;
  if (request.nonce != due) {
    throw Error(ErrorCode::kInvalidArgument, "transaction",
                "has the nonce {}, and {} is the next of {}", request.nonce,
                due, short_name(request.account))
        .hint(request.nonce < due
                  ? "it was applied already, or another was"
                  : "an earlier one of this account is missing");
  }
  request.def->apply(state, {request.account, request.fields, notes});
  state.accounts[request.account].nonce = due + 1;
}

}  // namespace weft::market
