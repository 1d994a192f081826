// What the ledger says of a gate: the life of its test set, and what was
// submitted to it. A pure function of the records of the book "gate/NAME":
//
//   init     a life begins: {"config", "key", "pool", "secret", "labels",
//   "old"} submit   a use of the set: {"name", "predictions"}; its key is the
//   request's request  labels are asked for: {"submission", "points"} labels
//   they came: {"labels"} verdict  {"submission", "details"}, and "passed"
//   where developers may know told     the owner's file and command have it:
//   {"submission"} end      the set is used up: {"why"}, the alarm release  its
//   points are known from now on: {} rotate   all that is sealed, sealed anew
//   with another key: {"key", "secret",
//            "labels", "old", "predictions", "requested", "details"}
//
// What developers must not read is sealed (secret.h): secret, labels, points,
// predictions and details.
//
// Threads: value types.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/gate/gate_file.h"
#include "weft/ledger/record.h"

namespace weft {

struct GateSubmission {
  std::string key;
  std::string name;         // of the model, as it was given
  std::int64_t time = 0;    // microseconds since 1970
  std::string predictions;  // sealed
  std::string requested;    // sealed; empty: no labels were asked for
  bool is_judged = false;
  bool is_told = false;
  std::optional<bool> passed;  // where developers may know
  std::string details;         // sealed
};

// Why a life ended.
enum class GateEnd : std::uint8_t {
  kNot,
  kSteps,     // all verdicts that were planned were given
  kPass,      // one passed, and adaptivity is first-change
  kReplaced,  // its owner began another one
};
std::string_view to_string(GateEnd end);

struct GateLife {
  std::int64_t number = 0;  // 1 is the first
  std::int64_t began = 0;
  GateConfig config;
  std::string key;     // id of what it is sealed with
  std::string pool;    // digest of the points that it was drawn from
  std::string secret;  // sealed: places of the set in the pool, spent points
  std::vector<std::string> labels;  // sealed
  std::string old;                  // sealed predictions; empty: no old model
  std::vector<GateSubmission> submissions;
  GateEnd end = GateEnd::kNot;
  bool is_released = false;

  // The one that waits for labels; null if none does.
  const GateSubmission* pending() const;
  const GateSubmission* find(const std::string& key) const;
  std::int64_t uses_left() const;
};

struct GateState {
  std::optional<GateLife> life;

  // Throws Error(kDataLoss) for a record that no gate wrote.
  void apply(const LedgerRecord& record);
};

}  // namespace weft
