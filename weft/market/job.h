// A computation that somebody pays for: which examples of which shards are read
// by what program, what workers say of it, and what it costs.
//
// Threads: value types; caller synchronises.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/market/amount.h"
#include "weft/market/keys.h"

namespace weft::market {

// A record of another book of the same ledger on which something waits, such as
// the verdict of a gate or the grant of a budget of privacy.
struct Condition {
  std::string book;
  std::string kind;
  std::string key;

  auto operator<=>(const Condition&) const = default;
};
// "gate/release/model 7": the key is all behind the second stroke. Throws
// Error(kInvalidArgument).
Condition parse_condition(const std::string& text);
std::string to_text(const Condition& condition);

enum class JobStatus { kSuccess, kPartial, kError };
// "success", "partial_success", "error".
std::string_view to_string(JobStatus status);

// What an enclave says of a job it has run.
struct Report {
  std::int64_t job = 0;
  Digest nonce{};        // of the assignment that it answers
  Digest measurement{};  // of the program, the recipe and the configuration
  Digest inputs{};       // inputs_digest() of the job
  Digest outputs{};      // of what it made: a model, predictions, a metric
  JobStatus status = JobStatus::kSuccess;
  std::vector<std::int64_t> reads;   // examples read of each shard
  std::vector<std::int64_t> values;  // of each shard, in millionths; or none
  // Where stages may be checked: how many there were, and the digest of the
  // states behind them (stage_states.h).
  std::int64_t stages = 0;
  Digest states{};
};
// What a machine signs.
std::string bytes_of(const Report& report);
Signature sign_report(const SigningKey& machine, const Report& report);
bool is_signed(const Report& report, const Signature& signature,
               const PublicKey& machine);

// A machine's key, which whoever made the machine vouches for.
Signature certify_machine(const SigningKey& vendor, const PublicKey& machine);
bool is_certified(const PublicKey& vendor, const PublicKey& machine,
                  const Signature& certificate);

enum class AssignmentState {
  kRunning,
  kReported,
  kRefuted,   // its report was false: slashed
  kLate,      // it did not report in time: slashed
  kReleased,  // the job ended without it
};
std::string_view to_string(AssignmentState state);

// A worker that runs a job, or has.
struct Assignment {
  PublicKey worker{};
  Amount price = 0;  // for a million units of work
  Digest nonce{};
  std::int64_t begun = 0;  // seconds
  AssignmentState state = AssignmentState::kRunning;
  std::optional<Report> report = {};
};

// What an enclave says of the stages of another's training that it has computed
// again.
struct Verdict {
  std::int64_t job = 0;
  Digest nonce{};        // of the assignment that it answers
  Digest measurement{};  // of the program that checked
  Digest states{};       // that it was to check
  bool holds = false;
};
std::string bytes_of(const Verdict& verdict);
Signature sign_verdict(const SigningKey& machine, const Verdict& verdict);
bool is_signed(const Verdict& verdict, const Signature& signature,
               const PublicKey& machine);

// A worker that checks another's report.
struct Checker {
  Assignment assignment;
  // Sealed for its machine: the digests of all states, and those states that
  // it needs, by the digests of their files. Empty until they are opened.
  std::vector<Digest> evidence = {};
  std::int64_t opened = 0;  // seconds
  std::optional<bool> holds = {};
};

// Whether, and how, stages of a training are computed again by others.
struct Checking {
  std::int64_t draws = 0;        // stages that are computed again; 0: none
  std::int64_t stage_steps = 0;  // steps of a stage; 0: those of an epoch
  Amount gas = 0;                // what is left for checkers
  Digest commitment{};           // of the payer's next secret (challenge.h)
  std::int64_t begun = 0;        // when the report came, seconds
  std::vector<std::int64_t> drawn = {};  // stages, from 1; none: no secret yet
  std::vector<Checker> checkers = {};    // of this report
};

enum class JobState {
  kOpen,      // waits for workers, or for what it needs to begin
  kRunning,   // its workers are at it
  kChecking,  // its report is there, and others compute stages of it again
  kWithheld,  // done; the data are paid when its conditions hold
  kPaid,
  kFailed,  // what was not paid went back to the payer
};
std::string_view to_string(JobState state);

struct Job {
  PublicKey payer{};
  std::string task;  // "training", "inference", "tryrun", "valuation"
  std::vector<std::int64_t> shards = {};
  std::string subset;
  std::int64_t epochs = 1;
  Digest model{};        // that is to be run or trained further; or zeros
  Digest measurement{};  // that the report must have
  std::int64_t units_per_example = 1;  // of work, by the engine's cost model
  Amount gas = 0;                      // the most that it may cost
  std::int64_t seconds = 0;            // that a worker has
  std::int64_t redundancy = 1;         // workers whose outputs must agree
  Checking checking = {};
  bool pays_by_value = false;        // else by usage
  bool pays_curators = false;        // else the holders of shares
  std::vector<Condition> needs;      // before it may begin
  std::vector<Condition> pays_when;  // before the data are paid
  std::int64_t deadline = 0;         // when it is given up, seconds

  JobState state = JobState::kOpen;
  std::string outcome = {};  // for people
  Amount escrow = 0;
  std::vector<std::int64_t> reads_due = {};  // of each shard, if all are read
  std::int64_t slots = 0;                    // workers that it has or waits for
  std::int64_t most_reads = 0;  // that its gas pays, once it has workers
  Amount most_price = 0;        // that a further worker may ask then
  std::vector<std::int64_t> periods = {};  // of each shard's association
  std::vector<Assignment> assignments = {};
  std::vector<Condition> met = {};
  std::optional<Report> result = {};  // that its workers agree on

  bool is_over() const {
    return state == JobState::kPaid || state == JobState::kFailed;
  }
};

// What the worker runs of the job, or checks; null where it does neither.
Assignment* running_assignment(Job& job, const PublicKey& worker);
const Assignment* running_assignment(const Job& job, const PublicKey& worker);

// What the report of a job says of its inputs: the shards, in their order, and
// which of their examples, how often, and with which model. `contents` are what
// the job's shards hold.
Digest inputs_digest(const Job& job, const std::vector<Digest>& contents);

}  // namespace weft::market
