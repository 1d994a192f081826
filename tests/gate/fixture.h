// A pool of points, models of any accuracy, and gates over them.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/gate/gate.h"
#include "weft/gate/id_table.h"

namespace weft::test {

// Models are so far from what decides that no draw of a set comes near it.
inline constexpr std::size_t kPool = 2500;

// Points whose labels are told apart from anything else in a file, and models
// that are right where they should be.
class GateFixture : public testing::Test {
 protected:
  GateFixture() {
    std::vector<std::string> ids;
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < kPool; ++i) {
      ids.push_back("point" + std::to_string(i));
      labels.push_back(label_of(i));
    }
    folder_.write("points.csv", id_table_text(kLabelColumn, ids, labels));
    std::string plain = "id\n";
    for (const std::string& id : ids) plain += id + "\n";
    folder_.write("unlabelled.csv", plain);
    GateKey::make().save(folder_ / "key");
  }

  static std::string label_of(std::size_t point) {
    return point % 2 == 0 ? "hidden-even" : "hidden-odd";
  }

  GateFile file(const std::string& more,
                const std::string& points = "points.csv") {
    return parse_gate_file(
        "[gate]\nkey = \"key\"\nreliability = 0.9\n"
        "points = \"" +
            points + "\"\n" + more,
        folder_ / "gate.toml");
  }
  Gate gate(const std::string& more, const std::string& points = "points.csv") {
    return {file(more, points), LedgerMode::kCreate};
  }

  // Right on the share of points that come first by a hash, so that better
  // models are right wherever worse ones are.
  std::filesystem::path model(double accuracy, const std::string& tag = "") {
    std::vector<std::string> ids;
    std::vector<std::string> says;
    for (std::size_t i = 0; i < kPool; ++i) {
      ids.push_back("point" + std::to_string(i));
      const double place = static_cast<double>(i * 7919 % kPool) / kPool;
      says.push_back(place < accuracy ? label_of(i) : "wrong" + tag);
    }
    return folder_.write(fmt::format("model{}{}.csv", accuracy, tag),
                         id_table_text(kPredictionColumn, ids, says));
  }

  std::string ledger_text(Gate& gate) {
    std::string text;
    Ledger ledger = Ledger::open(gate.file().ledger);
    ledger.read(ledger.beginning(), [&](const LedgerRecord& record) {
      text += record.kind + " " + record.key + " " + record.body + "\n";
    });
    return text;
  }
  std::vector<std::string> kinds(Gate& gate) {
    std::vector<std::string> kinds;
    Ledger ledger = Ledger::open(gate.file().ledger);
    ledger.read(ledger.beginning(), [&](const LedgerRecord& record) {
      kinds.push_back(record.kind);
    });
    return kinds;
  }
  nlohmann::json details(Gate& gate) {
    return nlohmann::json::parse(gate.details().back());
  }

  TemporaryFolder folder_;
};

inline constexpr const char* kFloor =
    "condition = 'n > 0.7 +/- 0.1'\nsteps = 3\n";
inline constexpr const char* kGain =
    "condition = 'n - o > 0.05 +/- 0.1 /\\ d < 0.6 +/- 0.1'\nsteps = 3\n";

}  // namespace weft::test
