// What weft.ledger, weft.budget, weft.gate and weft.market are made of: texts
// and JSON go over, and the package makes objects of them. Each call opens the
// ledger anew, which finds what others have written meanwhile.
#include <nlohmann/json.hpp>

#include "python/src/bind.h"

#include "weft/budget/budget_ledger.h"
#include "weft/budget/budget_view.h"
#include "weft/gate/gate.h"
#include "weft/gate/gate_view.h"
#include "weft/ledger/export.h"
#include "weft/ledger/verify.h"
#include "weft/market/sending.h"
#include "weft/market/view.h"

namespace weft::python {
namespace {

using Json = nlohmann::ordered_json;
using Texts = std::vector<std::string>;

// --- Ledgers ---

Texts ledger_records(const std::string& location, const std::string& book,
                     const std::string& kind, std::int64_t after) {
  Ledger ledger = Ledger::open(location);
  Texts records;
  ledger.read(ledger.beginning(), [&](const LedgerRecord& record) {
    const bool is_asked = record.sequence > after &&
                          (book.empty() || record.book == book) &&
                          (kind.empty() || record.kind == kind);
    if (is_asked) records.push_back(export_line(record));
  });
  return records;
}

std::string ledger_verify(const std::string& location, const Texts& heads) {
  std::vector<LedgerHead> noted;
  for (const std::string& head : heads) noted.push_back(head_from_text(head));
  Ledger ledger = Ledger::open(location);
  const LedgerCheck check = verify(ledger, noted);
  return Json{{"holds", check.holds()},
              {"head", to_text(check.head)},
              {"books", check.books},
              {"broken", check.broken ? Json(*check.broken) : Json()},
              {"damage", check.damage}}
      .dump();
}

// --- Budgets ---

void budget_add(const std::string& location, const Texts& blocks,
                double epsilon, double delta, const std::string& scheduler,
                const std::string& unlocking, std::optional<double> period) {
  Ledger ledger = Ledger::open(location, LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  BudgetRules rules = budgets.books().rules();
  if (!scheduler.empty()) rules.scheduler = scheduler;
  if (!unlocking.empty()) rules.unlocking = unlocking;
  if (period) rules.period = *period;
  budgets.set_rules(rules);
  for (const std::string& block : blocks) {
    budgets.add_block(block, {.epsilon = epsilon, .delta = delta});
  }
}

std::string budget_show(const std::string& location) {
  Ledger ledger = Ledger::open(location);
  return budget_json(BudgetLedger(ledger).books(), ledger.now());
}

std::string budget_grant(const std::string& location, const std::string& claim,
                         const Texts& blocks, const std::string& mechanism,
                         const std::string& job, double weight,
                         double seconds) {
  Ledger ledger = Ledger::open(location);
  BudgetLedger budgets(ledger);
  KeptClaim kept = budgets.ask({.claim = claim,
                                .job = job,
                                .mechanism = mechanism,
                                .blocks = blocks,
                                .weight = weight});
  if (kept.standing == ClaimStanding::kWaiting && seconds > 0) {
    kept = budgets.wait(claim, seconds);
  }
  return claim_json(kept);
}

void budget_begin(const std::string& location, const std::string& claim) {
  Ledger ledger = Ledger::open(location);
  BudgetLedger(ledger).begin(claim);
}

void budget_release(const std::string& location, const std::string& claim) {
  Ledger ledger = Ledger::open(location);
  BudgetLedger(ledger).release(claim);
}

// --- Gates ---

std::string gate_size(const std::string& condition, double reliability,
                      const std::string& mode, const std::string& adaptivity,
                      std::int64_t steps, double difference,
                      bool is_difference_known) {
  const GateTerms terms =
      gate_terms({{"condition", condition},
                  {"reliability", reliability},
                  {"mode", mode},
                  {"adaptivity", adaptivity},
                  {"steps", steps},
                  {"difference", difference},
                  {"difference_known", is_difference_known}});
  return plan_json(terms, plan_gate(terms));
}

std::string_view answer_text(GateAnswer answer) {
  switch (answer) {
    case GateAnswer::kPassed:
      return "passed";
    case GateAnswer::kFailed:
      return "failed";
    case GateAnswer::kWaiting:
      return "waits for labels";
    case GateAnswer::kRecorded:
      return "recorded";
  }
  return "";
}

void gate_init(const std::string& file, const std::string& old, bool replaces) {
  Gate(load_gate_file(file), LedgerMode::kCreate).init(old, replaces);
}

std::string gate_submit(const std::string& file, const std::string& model,
                        double patience) {
  Gate gate(load_gate_file(file), LedgerMode::kOpen);
  return std::string(answer_text(gate.submit(model, patience)));
}

std::optional<std::string> gate_labels(const std::string& file) {
  const auto answer = Gate(load_gate_file(file), LedgerMode::kOpen).proceed();
  if (!answer) return std::nullopt;
  return std::string(answer_text(*answer));
}

std::optional<std::string> gate_status(const std::string& file) {
  Gate gate(load_gate_file(file), LedgerMode::kOpen);
  const GateState& state = gate.state();
  if (!state.life) return std::nullopt;
  return status_json(gate.file().name, *state.life);
}

Texts gate_details(const std::string& file) {
  return Gate(load_gate_file(file), LedgerMode::kOpen).details();
}

std::string gate_release(const std::string& file) {
  return Gate(load_gate_file(file), LedgerMode::kOpen).release();
}

// --- Markets ---

std::string market_account(const std::string& key) {
  return market::to_hex(market::SigningKey::read(key).public_key());
}

std::string market_make_key(const std::string& file) {
  const market::SigningKey key;
  key.write(file);
  return market::to_hex(key.public_key());
}

std::string market_show(const std::string& location) {
  Ledger ledger = Ledger::open(location);
  return market::state_json(market::Market(ledger).current());
}

std::vector<market::SigningKey> keys_in(const Texts& files) {
  std::vector<market::SigningKey> keys;
  for (const std::string& file : files) {
    keys.push_back(market::SigningKey::read(file));
  }
  return keys;
}

Texts market_send(const std::string& location, const std::string& key,
                  const std::string& what, const Texts& words,
                  const Texts& validators) {
  const auto& def = market_transaction_registry().get(what);
  const auto sender = market::SigningKey::read(key);
  Ledger ledger = Ledger::open(location);
  market::Market market(ledger, keys_in(validators));
  return send_alone(market,
                    next_transaction(market, sender, what,
                                     market::fields_from_words(def, words)))
      .notes;
}

Texts market_reveal(const std::string& location, const std::string& key,
                    std::int64_t job, const Texts& validators) {
  const auto payer = market::SigningKey::read(key);
  Ledger ledger = Ledger::open(location);
  market::Market market(ledger, keys_in(validators));
  return send_alone(market, next_reveal(market, payer, job)).notes;
}

std::string market_verify(const std::string& location) {
  Ledger ledger = Ledger::open(location);
  return market::state_json(market::replay(ledger));
}

}  // namespace

void bind_books(py::module_& module) {
  const auto nogil = py::call_guard<py::gil_scoped_release>();
  module.def("ledger_records", ledger_records, nogil);
  module.def("ledger_verify", ledger_verify, nogil);
  module.def("budget_add", budget_add, nogil);
  module.def("budget_show", budget_show, nogil);
  module.def("budget_grant", budget_grant, nogil);
  module.def("budget_begin", budget_begin, nogil);
  module.def("budget_release", budget_release, nogil);
  module.def("gate_size", gate_size, nogil);
  module.def("gate_init", gate_init, nogil);
  module.def("gate_submit", gate_submit, nogil);
  module.def("gate_labels", gate_labels, nogil);
  module.def("gate_status", gate_status, nogil);
  module.def("gate_details", gate_details, nogil);
  module.def("gate_release", gate_release, nogil);
  module.def("market_account", market_account, nogil);
  module.def("market_make_key", market_make_key, nogil);
  module.def("market_show", market_show, nogil);
  module.def("market_send", market_send, nogil);
  module.def("market_reveal", market_reveal, nogil);
  module.def("market_verify", market_verify, nogil);
}

}  // namespace weft::python
