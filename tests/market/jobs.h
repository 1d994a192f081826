// A market with two shards, four workers and a buyer, in which jobs are done.
#pragma once

#include <string>
#include <vector>

#include "tests/market/scene.h"

namespace weft::test {

inline std::string certificate_of(const std::string& worker) {
  return market::to_hex(market::certify_machine(
      key_named("vendor"), MarketScene::account(worker + "'s machine")));
}

inline SaidFields offer_of(const std::string& worker, std::int64_t price,
                           std::int64_t stake = 100) {
  return said()
      .who("machine", worker + "'s machine")
      .text("certificate", certificate_of(worker))
      .number("price", price)
      .number("stake", stake);
}

// Two shards, of Anna (100 examples) and Ben (300), who hold as many shares; a
// thousand reads cost 1000. Workers ask 10, 20, 30 and 40 for a million units,
// and an example is 100,000 units: an example of the first costs 1.
class Jobs : public testing::Test {
 protected:
  explicit Jobs(market::Genesis genesis = MarketScene::usual())
      : scene(genesis) {
    found_database(scene, 1, 1000);
    decide(scene, "owner", shard_of("anna", 100, "a", 100), {"owner"});
    decide(scene, "anna", shard_of("ben", 300, "b", 300), {"anna"});
    scene.send("treasurer", "deposit", deposit_of("buyer", 100'000));
    std::int64_t price = 0;
    for (const char* worker : {"w1", "w2", "w3", "w4"}) {
      scene.send("treasurer", "deposit", deposit_of(worker, 1000));
      scene.send(worker, "offer", offer_of(worker, price += 10));
    }
  }

  static SaidFields job() {
    return said()
        .text("task", "training")
        .all<market::PublicKey>(
            "contents", {MarketScene::digest("a"), MarketScene::digest("b")})
        .all<market::PublicKey>("owners", {MarketScene::account("anna"),
                                           MarketScene::account("ben")})
        .number("epochs", 2)
        .digest("measurement", "program")
        .number("units_per_example", 100'000)
        .number("gas", 10'000)
        .number("seconds", 100)
        .number("patience", 1000)
        .number("redundancy", 1);
  }

  market::Job& at(std::int64_t number) {
    return scene.state.jobs[static_cast<std::size_t>(number - 1)];
  }
  const market::Worker& worker(const std::string& name) const {
    return scene.state.workers.at(MarketScene::account(name));
  }
  std::int64_t job_of(const std::string& name) const {
    return worker(name).job;
  }

  // What an honest enclave of that worker says of its job.
  market::Report honest(const std::string& name) {
    const std::int64_t number = job_of(name);
    const market::Job& job = at(number);
    market::Report report{
        .job = number,
        .measurement = job.measurement,
        .inputs = market::inputs_digest(
            job, {MarketScene::digest("a"), MarketScene::digest("b")}),
        .outputs = MarketScene::digest("the model"),
        .reads = job.reads_due,
        .values = {}};
    for (const auto& assignment : job.assignments) {
      if (assignment.worker == MarketScene::account(name)) {
        report.nonce = assignment.nonce;
      }
    }
    return report;
  }
  static SaidFields signed_by(const std::string& machine,
                              const market::Report& report) {
    return said()
        .number("job", report.job)
        .key("assignment", report.nonce)
        .key("measurement", report.measurement)
        .key("inputs", report.inputs)
        .key("outputs", report.outputs)
        .text("status", std::string(to_string(report.status)))
        .all("reads", report.reads)
        .all("values", report.values)
        .number("stages", report.stages)
        .key("states", report.states)
        .text("signature",
              market::to_hex(market::sign_report(key_named(machine), report)));
  }
  void report(const std::string& name, const market::Report& report) {
    scene.send(name, "report", signed_by(name + "'s machine", report));
  }
  market::Amount dividends(const std::string& name) {
    const market::Amount before = scene.balance(name);
    scene.send(name, "withdraw", said().number("association", 1));
    return scene.balance(name) - before;
  }

  MarketScene scene;
};

}  // namespace weft::test
