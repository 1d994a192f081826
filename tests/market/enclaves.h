// A market in which a worker has an enclave, and owners have sealed shards.
#pragma once

#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tests/market/scene.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"
#include "weft/market/enclave.h"
#include "weft/market/work_units.h"
#include "weft/market/worker.h"

namespace weft::test {

inline constexpr const char* kEnclaveRecipe = R"(
[model]
name = "mlp"
hidden = [8]
[data]
name = "digits"
[optimizer]
name = "sgd"
lr = 0.1
[train]
epochs = 1
batch = 16
)";

inline std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::int64_t> rows_from(std::int64_t first,
                                           std::int64_t count) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

inline const Dataset& digits() {
  static const DatasetSplits splits = open_data({.name = "digits"});
  return *splits.train;
}

// A market in which Anna and Ben own a shard of digits each, and a worker has a
// job on both.
class EnclaveTest : public testing::Test {
 protected:
  EnclaveTest() : ledger_(Ledger::open(location(), LedgerMode::kCreate)) {
    market::Market::begin(ledger_, MarketScene::usual());
    market_.emplace(ledger_);
    std::filesystem::create_directories(store());
    machine_.write(folder_.path() / "machine.key");
    worker_.write(folder_.path() / "worker.key");
    seal("anna", 0, 60);
    seal("ben", 60, 40);
    set_up_market();
  }

  std::string location() const { return (folder_.path() / "m.db").string(); }
  std::filesystem::path store() const { return folder_.path() / "store"; }

  void seal(const std::string& owner, std::int64_t first, std::int64_t count) {
    const market::ShardKey key = market::draw_shard_key();
    const auto path = store() / "new";
    const market::Digest content =
        market::write_shard(path, key, digits(), rows_from(first, count));
    std::filesystem::rename(path, market::stored(store(), content));
    contents_.push_back(content);
    keys_[owner] = {{content, key}};
  }
  market::Transaction make(const market::SigningKey& key, std::string_view what,
                           const market::Fields& fields,
                           std::int64_t later = 0) {
    const auto& accounts = market_->current().accounts;
    const auto found = accounts.find(key.public_key());
    return market::make_transaction(
        key, market_->current().market,
        (found == accounts.end() ? 0 : found->second.nonce) + later, what,
        fields);
  }
  // Blocks of a time that the test decides on.
  void append(const std::vector<market::Transaction>& transactions) {
    const market::Draft draft =
        market::draft_block(market_->current(), time_, transactions);
    for (const auto& refusal : draft.refused) ADD_FAILURE() << refusal.why;
    market_->append(draft.block);
  }
  void send(const market::SigningKey& key, std::string_view what,
            const market::Fields& fields) {
    append({make(key, what, fields)});
  }
  void vote_through(SaidFields payload) {
    const std::int64_t number = std::ssize(market_->current().proposals) + 1;
    const auto owner = key_named("owner");
    SaidFields proposal = payload;
    append({make(owner, "propose", proposal.number("association", 1)),
            make(owner, "vote", vote_of(number, true), 1)});
    time_ += 1;
    send(owner, "execute", payload.number("proposal", number));
  }
  void set_up_market() {
    send(key_named("owner"), "found",
         said().text("name", "digits").number("quorum", 1).number("debate", 1));
    vote_through(said()
                     .text("kind", "database")
                     .text("name", "d")
                     .number("price", 1000));
    // All shares are the owner's, to keep this short.
    const auto add = [&](std::size_t i, std::int64_t examples) {
      vote_through(said()
                       .text("kind", "shard")
                       .who("recipient", "owner")
                       .number("amount", 10)
                       .number("database", 1)
                       .key("content", contents_[i])
                       .number("examples", examples));
    };
    add(0, 60);
    add(1, 40);
    send(key_named("treasurer"), "deposit", deposit_of("buyer", 100'000));
    send(key_named("treasurer"), "deposit",
         said().key("to", worker_.public_key()).number("amount", 1000));
    send(worker_, "offer",
         said()
             .key("machine", machine_.public_key())
             .text("certificate",
                   market::to_hex(market::certify_machine(
                       key_named("vendor"), machine_.public_key())))
             .number("price", 10)
             .number("stake", 100));
  }

  std::int64_t submit(const std::string& task, std::int64_t epochs,
                      const std::string& recipe = kEnclaveRecipe,
                      std::int64_t gas = 50'000,
                      const market::Digest& model = {},
                      const SaidFields& more = said()) {
    const market::Digest measurement =
        market::measurement_of(market::own_program(), recipe, task);
    std::ofstream(market::stored(store(), measurement)) << recipe;
    const std::int64_t units =
        recipe.empty() ? 1
                       : market::units_per_example(parse_recipe(recipe, "test"),
                                                   digits(), task);
    SaidFields fields = more;
    send(key_named("buyer"), "submit_job",
         fields.text("task", task)
             .all<market::PublicKey>("contents", contents_)
             .all<market::PublicKey>("owners", {MarketScene::account("owner"),
                                                MarketScene::account("owner")})
             .number("epochs", epochs)
             .key("model", model)
             .key("measurement", measurement)
             .number("units_per_example", units)
             .number("gas", gas)
             .number("seconds", 1000)
             .number("patience", 10'000)
             .number("redundancy", 1));
    return std::ssize(market_->current().jobs);
  }
  market::WorkerSetting setting(const std::string& results = "results") {
    return {.ledger = location(),
            .machine = folder_.path() / "machine.key",
            .store = store(),
            .keys = {},
            .results = folder_.path() / results};
  }
  market::EnclaveOrder order(std::int64_t job,
                             const std::string& results = "results") {
    return market::order_of(market_->current(), job, worker_.public_key(),
                            setting(results));
  }
  // The services of both owners, in this process.
  market::AskKeys services() {
    return [this](const market::KeyRequest& request,
                  const market::Signature& signature) {
      std::vector<std::string> boxes;
      for (const auto& [owner, keys] : keys_) {
        market::KeyService service(*market_, keys);
        boxes.push_back(service.release(request, signature));
      }
      return boxes;
    };
  }
  market::EnclaveResult run(std::int64_t job,
                            const std::string& results = "results") {
    const market::EnclaveOrder ordered = order(job, results);
    const auto platform = market::software_platform(
        setting().machine, ordered.recipe, ordered.job.task);
    return market::run_order(ordered, *platform, services());
  }
  void report(const market::EnclaveResult& result) {
    const auto& said_report = result.report;
    send(worker_, "report",
         said()
             .number("job", said_report.job)
             .key("assignment", said_report.nonce)
             .key("measurement", said_report.measurement)
             .key("inputs", said_report.inputs)
             .key("outputs", said_report.outputs)
             .text("status", std::string(to_string(said_report.status)))
             .all("reads", said_report.reads)
             .all("values", said_report.values)
             .number("stages", said_report.stages)
             .key("states", said_report.states)
             .text("signature", market::to_hex(result.signature)));
  }
  const market::Job& job(std::int64_t number) {
    return market_->current().jobs[static_cast<std::size_t>(number - 1)];
  }

  TemporaryFolder folder_;
  market::SigningKey machine_;
  market::SigningKey worker_;
  Ledger ledger_;
  std::optional<market::Market> market_;
  std::vector<market::Digest> contents_;
  std::map<std::string, market::ShardKeys> keys_;
  std::int64_t time_ = 1'700'000'000;
};

}  // namespace weft::test
