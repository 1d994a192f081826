// The digest of a state: over every number, text and key of it in one order,
// each list behind its length, so that no two states have the same bytes.
#include <sodium.h>

#include "weft/market/state.h"

namespace weft::market {
namespace {

// Takes values in as bytes, and digests many of them at once.
class Canonical {
 public:
  Canonical() {
    crypto_generichash_init(&state_, /*key=*/nullptr, 0, sizeof(Digest));
    bytes_.reserve(kChunk + 4096);
  }

  void add(std::int64_t number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    flush(kChunk);
  }
  void add(const std::string& text) {
    add(std::ssize(text));
    bytes_ += text;
    flush(kChunk);
  }
  void add(const PublicKey& key) {
    bytes_.append(reinterpret_cast<const char*>(key.data()), key.size());
  }
  template <class T>
  void add(const std::vector<T>& list) {
    add(std::ssize(list));
    for (const T& value : list) add(value);
  }
  template <class T>
  void add(const std::set<T>& list) {
    add(std::ssize(list));
    for (const T& value : list) add(value);
  }
  template <class Key, class T>
  void add(const std::map<Key, T>& map) {
    add(std::ssize(map));
    for (const auto& [key, value] : map) {
      add(key);
      add(value);
    }
  }
  template <class T>
  void add(const std::optional<T>& value) {
    add(std::int64_t{value.has_value()});
    if (value) add(*value);
  }

  void add(const Account& account) {
    add(account.balance);
    add(account.nonce);
  }
  void add(const Period& period) {
    add(period.shares);
    add(period.supply);
    add(period.per_share);
    add(period.rest);
    add(period.open_jobs);
  }
  void add(const Association& association) {
    add(association.name);
    add(association.owner);
    add(association.rules.quorum);
    add(association.rules.debate);
    add(association.rules.least_to_propose);
    add(association.symbolic);
    add(std::int64_t{association.is_started});
    add(association.treasury);
    add(association.period);
    add(association.periods);
    add(association.owed);
  }
  void add(const Database& database) {
    add(database.association);
    add(database.name);
    add(database.price);
    add(database.shards);
  }
  void add(const Shard& shard) {
    add(shard.database);
    add(shard.curator);
    add(shard.content);
    add(shard.examples);
    add(shard.reward);
  }
  void add(const Tally& tally) {
    add(tally.yea);
    add(tally.nay);
  }
  void add(const Proposal& proposal) {
    add(proposal.association);
    add(proposal.proposer);
    add(static_cast<std::int64_t>(proposal.kind));
    add(proposal.payload);
    add(proposal.deadline);
    add(std::ssize(proposal.votes));
    for (const auto& [voter, approves] : proposal.votes) {
      add(voter);
      add(std::int64_t{approves});
    }
    add(proposal.tally);
    add(static_cast<std::int64_t>(proposal.state));
  }
  void add(const Model& model) {
    add(model.owner);
    add(model.database);
    add(model.title);
    add(model.description);
    add(model.content);
    add(model.extractor);
    add(std::int64_t{model.is_active});
  }
  void add(const Worker& worker) {
    add(worker.machine);
    add(worker.price);
    add(worker.tasks);
    add(worker.stake);
    add(worker.reputation);
    add(worker.job);
    add(std::int64_t{worker.is_active});
  }
  void add(const Condition& condition) {
    add(condition.book);
    add(condition.kind);
    add(condition.key);
  }
  void add(const Report& report) { add(bytes_of(report)); }
  void add(const Assignment& assignment) {
    add(assignment.worker);
    add(assignment.price);
    add(assignment.nonce);
    add(assignment.begun);
    add(static_cast<std::int64_t>(assignment.state));
    add(assignment.report);
  }
  void add(const Checker& checker) {
    add(checker.assignment);
    add(checker.evidence);
    add(checker.opened);
    add(std::int64_t{checker.holds.has_value()});
    add(std::int64_t{checker.holds.value_or(false)});
  }
  void add(const Checking& checking) {
    add(checking.draws);
    add(checking.stage_steps);
    add(checking.gas);
    add(checking.commitment);
    add(checking.begun);
    add(checking.drawn);
    add(checking.checkers);
  }
  void add(const Job& job) {
    add(job.payer);
    add(job.task);
    add(job.shards);
    add(job.subset);
    add(job.epochs);
    add(job.model);
    add(job.measurement);
    add(job.units_per_example);
    add(job.gas);
    add(job.seconds);
    add(job.redundancy);
    add(std::int64_t{job.pays_by_value});
    add(std::int64_t{job.pays_curators});
    add(job.needs);
    add(job.pays_when);
    add(job.deadline);
    add(static_cast<std::int64_t>(job.state));
    add(job.outcome);
    add(job.escrow);
    add(job.reads_due);
    add(job.slots);
    add(job.most_reads);
    add(job.most_price);
    add(job.periods);
    add(job.assignments);
    add(job.met);
    add(job.result);
  }

  Digest digest() {
    flush(0);
    Digest digest;
    crypto_generichash_final(&state_, digest.data(), digest.size());
    return digest;
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 16;

  void flush(std::size_t limit) {
    if (bytes_.size() < limit) return;
    crypto_generichash_update(
        &state_, reinterpret_cast<const unsigned char*>(bytes_.data()),
        bytes_.size());
    bytes_.clear();
  }

  crypto_generichash_state state_;
  std::string bytes_;
};

}  // namespace

Digest root_of(const State& state) {
  Canonical canonical;
  canonical.add(state.market);
  canonical.add(state.height);
  canonical.add(state.time);
  canonical.add(state.money);
  canonical.add(state.accounts);
  canonical.add(state.associations);
  canonical.add(state.databases);
  canonical.add(state.shards);
  canonical.add(state.proposals);
  canonical.add(state.models);
  canonical.add(state.jobs);
  canonical.add(state.workers);
  // At the end, so that markets without checks have the roots that they had
  // before there were any.
  for (std::size_t i = 0; i < state.jobs.size(); ++i) {
    if (state.jobs[i].checking.draws == 0) continue;
    canonical.add(static_cast<std::int64_t>(i));
    canonical.add(state.jobs[i].checking);
  }
  return canonical.digest();
}

}  // namespace weft::market
