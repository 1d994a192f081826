// A gate in its ledger: models are submitted, each uses the test set once, and
// the verdict is what the terms promise.
//
//   Gate gate(load_gate_file("gate.toml"), GateOpening::kOpen);
//   gate.submit("model.weft", seconds);
//
// What was decided is in the ledger before anybody is told: a process that is
// killed leaves a submission that the next one goes on with, and a submission
// that is repeated gets the verdict that it had. One is judged at a time.
//
// Threads: an object is for one thread; any number of processes may share a
// gate.
// Errors:  Error(kInvalidArgument) where the gate file says otherwise than the
//          ledger, for a model that does not suit, and for a set that is used
//          up or not there; those of ledger, points, labels and key.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/gate/judge.h"
#include "weft/gate/labels.h"
#include "weft/gate/points.h"
#include "weft/gate/secret.h"
#include "weft/gate/state.h"
#include "weft/ledger/book.h"

namespace weft {

enum class GateAnswer : std::uint8_t {
  kPassed,
  kFailed,
  kWaiting,   // for labels
  kRecorded,  // and the verdict goes to somebody else
};

class Gate {
 public:
  // Throws Error(kUnavailable) where there is no ledger and `mode` does not
  // make one.
  Gate(GateFile file, LedgerMode mode);

  const GateFile& file() const { return file_; }
  // As the ledger has it now; what is in there is no secret of developers'.
  const GateState& state() { return book_.current(); }

  // Begins a life with points that no verdict has rested on, drawn at random,
  // under the terms of the gate file. `old` is the model to compare with first;
  // empty: the one that was accepted last, where points are of the same pool.
  // Throws Error(kInvalidArgument) where a life goes on, unless it is to be
  // replaced, and Error(kUnavailable) for fewer points than it takes.
  void init(const std::filesystem::path& old, bool replaces);

  // `model` is a trained model, or a table of predictions for all points. Waits
  // for so long for others that are judged.
  GateAnswer submit(const std::filesystem::path& model, double patience);
  // Goes on with the submission that waits for labels; nothing if none does.
  std::optional<GateAnswer> proceed();

  // The points of a set that is used up, as a table with the labels that are
  // known: they may be told to developers from now on.
  std::string release();
  // Seals everything with another key, which the gate file names from then on.
  void rotate(const GateKey& next);

  // All that was counted for the last verdicts: for the owner.
  std::vector<std::string> details();

 private:
  // What of a life developers must not read.
  struct Secret {
    std::vector<std::size_t> set;    // places in the pool, as they were drawn
    std::vector<std::string> spent;  // ids that earlier verdicts rested on
  };
  enum class Taken : std::uint8_t { kYes, kLater };

  // These read files when they are first asked for.
  const GatePoints& points();
  const GateKey& key();
  const GatePlan& plan();

  // Throws where the life is not this gate file's.
  const GateLife& checked_life(const GateState& state);
  std::string seal(const Secret& secret);
  Secret open_secret(const GateLife& life);
  std::string seal(const std::vector<std::string>& predictions);
  std::vector<std::string> open_predictions(const std::string& sealed);
  std::vector<std::optional<std::string>> open_labels(const GateLife& life);
  GatePredictions predictions_on_set(const GateLife& life,
                                     const GateSubmission& submission);
  // Places in the set whose labels are needed and not known.
  std::vector<std::size_t> missing_labels(const GateLife& life,
                                          const GateSubmission& submission);
  // Spent points of a life that comes behind.
  std::vector<std::string> spent_after(const GateLife& life);
  Secret draw(std::vector<std::string> spent);
  std::string labels_beside(const Secret& secret);

  Taken take_in(BookWriter<GateState>& writer, const std::string& key,
                const std::string& name,
                const std::vector<std::string>& predictions);
  void judge_pending(BookWriter<GateState>& writer);
  // Throws Error(kUnavailable) where another life has begun.
  const GateSubmission& submission_of(const GateLife& life,
                                      const std::string& request) const;
  // The answer to the submission of that key; labels are asked for if it waits.
  GateAnswer answer_to(const std::string& key);
  bool ask_labels(const std::string& key);
  void tell_results();

  GateFile file_;
  Ledger ledger_;
  Book<GateState> book_;
  std::optional<GateKey> key_;
  std::optional<GatePlan> plan_;
  std::unique_ptr<GatePoints> points_;
};

}  // namespace weft
