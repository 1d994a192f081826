#include "weft/market/view.h"

#include <nlohmann/json.hpp>

namespace weft::market {
namespace {

using View = nlohmann::ordered_json;

// A list of entries with their numbers, from 1.
template <class T, class Show>
View numbered(const std::vector<T>& entries, Show&& show) {
  View list = View::array();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    View one{{"number", i + 1}};
    one.update(show(entries[i]));
    list.push_back(std::move(one));
  }
  return list;
}

View accounts_view(const State& state) {
  View list = View::array();
  for (const auto& [key, account] : state.accounts) {
    list.push_back({{"account", to_hex(key)},
                    {"balance", account.balance},
                    {"nonce", account.nonce}});
  }
  return list;
}

// Those who hold shares, and those who are owed dividends still. What periods
// hold is told apart as a withdrawal would.
View association_view(const Association& association) {
  Association settled = association;
  settled.settle();
  std::map<PublicKey, std::pair<Amount, Amount>> holders;
  for (const auto& [key, shares] : settled.current().shares) {
    holders[key].first = shares;
  }
  for (const auto& [key, owed] : settled.owed) holders[key].second = owed;
  View list = View::array();
  for (const auto& [key, both] : holders) {
    list.push_back({{"account", to_hex(key)},
                    {"shares", both.first},
                    {"owed", both.second}});
  }
  return {{"name", association.name},
          {"owner", to_hex(association.owner)},
          {"quorum", association.rules.quorum},
          {"debate", association.rules.debate},
          {"least_to_propose", association.rules.least_to_propose},
          {"symbolic", association.symbolic},
          {"supply", association.current().supply},
          {"treasury", association.treasury},
          {"holders", std::move(list)}};
}

std::string_view to_string(Proposal::State state) {
  switch (state) {
    case Proposal::State::kOpen:
      return "open";
    case Proposal::State::kPassed:
      return "executed";
    case Proposal::State::kFailed:
      return "failed";
  }
  WEFT_CHECK(false, "a state that there is not");
}

View proposal_view(const Proposal& proposal) {
  constexpr std::array<const char*, 3> kKinds{"payment", "database", "shard"};
  View view{{"association", proposal.association},
            {"kind", kKinds[static_cast<std::size_t>(proposal.kind)]},
            {"proposer", to_hex(proposal.proposer)},
            {"deadline", proposal.deadline},
            {"votes", proposal.votes.size()},
            {"state", to_string(proposal.state)}};
  if (proposal.tally) {
    view["yea"] = proposal.tally->yea;
    view["nay"] = proposal.tally->nay;
  }
  return view;
}

View conditions_view(const std::vector<Condition>& conditions) {
  View list = View::array();
  for (const Condition& condition : conditions) {
    list.push_back(to_text(condition));
  }
  return list;
}

View job_view(const Job& job) {
  View assignments = View::array();
  for (const Assignment& assignment : job.assignments) {
    assignments.push_back({{"worker", to_hex(assignment.worker)},
                           {"price", assignment.price},
                           {"nonce", to_hex(assignment.nonce)},
                           {"state", market::to_string(assignment.state)}});
  }
  View view{{"task", job.task},
            {"payer", to_hex(job.payer)},
            {"state", market::to_string(job.state)},
            {"outcome", job.outcome},
            {"shards", job.shards},
            {"epochs", job.epochs},
            {"gas", job.gas},
            {"escrow", job.escrow},
            {"measurement", to_hex(job.measurement)},
            {"reads_due", job.reads_due},
            {"most_reads", job.most_reads},
            {"needs", conditions_view(job.needs)},
            {"pays_when", conditions_view(job.pays_when)},
            {"met", conditions_view(job.met)},
            {"assignments", std::move(assignments)}};
  if (job.checking.draws > 0) {
    View checkers = View::array();
    for (const Checker& checker : job.checking.checkers) {
      View one{{"worker", to_hex(checker.assignment.worker)},
               {"state", market::to_string(checker.assignment.state)},
               {"is_open", !checker.evidence.empty()}};
      if (checker.holds) one["holds"] = *checker.holds;
      checkers.push_back(std::move(one));
    }
    view["checks"] = {{"draws", job.checking.draws},
                      {"stage_steps", job.checking.stage_steps},
                      {"gas", job.checking.gas},
                      {"drawn", job.checking.drawn},
                      {"checkers", std::move(checkers)}};
  }
  if (job.result) {
    view["outputs"] = to_hex(job.result->outputs);
    view["reads"] = job.result->reads;
    view["values"] = job.result->values;
  }
  return view;
}

View workers_view(const State& state) {
  View list = View::array();
  for (const auto& [key, worker] : state.workers) {
    list.push_back({{"account", to_hex(key)},
                    {"machine", to_hex(worker.machine)},
                    {"price", worker.price},
                    {"stake", worker.stake},
                    {"reputation", worker.reputation},
                    {"job", worker.job},
                    {"active", worker.is_active}});
  }
  return list;
}

}  // namespace

std::string state_json(const State& state) {
  View view{{"name", state.genesis.name},
            {"market", to_hex(state.market)},
            {"height", state.height},
            {"time", state.time},
            {"root", to_hex(state.root)},
            {"money", state.money},
            {"treasurer", to_hex(state.genesis.treasurer)},
            {"platform", to_hex(state.genesis.platform)},
            {"validators", state.genesis.validators.size()}};
  view["accounts"] = accounts_view(state);
  view["associations"] = numbered(state.associations, association_view);
  view["databases"] = numbered(state.databases, [](const Database& one) {
    return View{{"association", one.association},
                {"name", one.name},
                {"price", one.price},
                {"shards", one.shards}};
  });
  view["shards"] = numbered(state.shards, [](const Shard& one) {
    return View{{"database", one.database},
                {"curator", to_hex(one.curator)},
                {"content", to_hex(one.content)},
                {"examples", one.examples},
                {"reward", one.reward}};
  });
  view["proposals"] = numbered(state.proposals, proposal_view);
  view["models"] = numbered(state.models, [](const Model& one) {
    return View{{"owner", to_hex(one.owner)},
                {"database", one.database},
                {"title", one.title},
                {"content", to_hex(one.content)},
                {"active", one.is_active}};
  });
  view["jobs"] = numbered(state.jobs, job_view);
  view["workers"] = workers_view(state);
  return view.dump();
}

}  // namespace weft::market
