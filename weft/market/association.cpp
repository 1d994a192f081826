#include "weft/market/association.h"

#include "weft/base/error.h"

namespace weft::market {
namespace {

// What a period holds goes to its holders.
void tell_apart(Period& period, std::map<PublicKey, Amount>& owed) {
  if (period.per_share == 0 && period.rest == 0) return;
  std::vector<Amount> weights;
  for (const auto& [account, shares] : period.shares) weights.push_back(shares);
  // Every share has its whole part already: remainders are those of the rest.
  const std::vector<Amount> rest = split_by(period.rest, weights);
  std::size_t i = 0;
  for (const auto& [account, shares] : period.shares) {
    const Amount due = period.per_share * shares + rest[i++];
    if (due > 0) owed[account] += due;
  }
  period.per_share = 0;
  period.rest = 0;
}

void take_shares(Period& period, const PublicKey& account, Amount shares) {
  const auto found = period.shares.find(account);
  found->second -= shares;
  if (found->second == 0) period.shares.erase(found);
  period.supply -= shares;
}

void give_shares(Period& period, const PublicKey& account, Amount shares) {
  if (shares == 0) return;
  period.shares[account] += shares;
  period.supply += shares;
}

// The period in which shares may change: one that no job began in.
Period& fresh_period(Association& association) {
  Period& current = association.periods.at(association.period);
  if (current.open_jobs == 0) {
    tell_apart(current, association.owed);
    return current;
  }
  Period next{.shares = current.shares, .supply = current.supply};
  return association.periods[++association.period] = std::move(next);
}

void require_shares(const Association& association, const PublicKey& account,
                    Amount shares) {
  const Amount held = association.shares_of(account);
  if (held < shares) {
    throw Error(ErrorCode::kInvalidArgument, "shares",
                "{} holds {} shares, fewer than {}", short_name(account), held,
                shares);
  }
}

}  // namespace

Amount Association::shares_of(const PublicKey& account) const {
  const auto& shares = current().shares;
  const auto found = shares.find(account);
  return found == shares.end() ? 0 : found->second;
}

void Association::mint(const PublicKey& account, Amount shares) {
  sum_of(current().supply, shares, "the shares");
  give_shares(fresh_period(*this), account, shares);
}

void Association::burn(const PublicKey& account, Amount shares) {
  require_shares(*this, account, shares);
  if (shares > 0) take_shares(fresh_period(*this), account, shares);
}

void Association::transfer(const PublicKey& from, const PublicKey& to,
                           Amount shares) {
  require_shares(*this, from, shares);
  if (shares == 0) return;
  Period& fresh = fresh_period(*this);
  take_shares(fresh, from, shares);
  give_shares(fresh, to, shares);
}

std::int64_t Association::begin_job() {
  ++periods.at(period).open_jobs;
  return period;
}

void Association::end_job(std::int64_t in_period) {
  const auto found = periods.find(in_period);
  WEFT_CHECK(found != periods.end() && found->second.open_jobs > 0);
  if (--found->second.open_jobs > 0 || in_period == period) return;
  tell_apart(found->second, owed);
  periods.erase(found);
}

void Association::pay(std::int64_t in_period, Amount amount) {
  Period& paid = periods.at(in_period);
  if (paid.supply == 0) {
    treasury += amount;
    return;
  }
  const Amount whole = paid.rest + amount;
  paid.per_share += whole / paid.supply;
  paid.rest = whole % paid.supply;
}

void Association::settle() {
  for (auto& [number, held] : periods) tell_apart(held, owed);
}

Amount Association::money() const {
  Amount sum = treasury;
  for (const auto& [number, held] : periods) {
    sum += held.per_share * held.supply + held.rest;
  }
  for (const auto& [account, amount] : owed) sum += amount;
  return sum;
}

}  // namespace weft::market
