#include "weft/market/recheck.h"

#include <map>

#include "weft/base/file.h"
#include "weft/market/checking.h"
#include "weft/market/job_data.h"
#include "weft/market/sealed_shard.h"
#include "weft/market/stage_states.h"
#include "weft/market/training_run.h"

namespace weft::market {
namespace {

// What the worker has done wrong, for people.
Error fault(std::string_view what) {
  return Error(ErrorCode::kDataLoss, "check", "{}", what);
}

// The states that the worker has opened, in files of this enclave's.
class Evidence {
 public:
  Evidence(const std::vector<Digest>& files, const std::filesystem::path& store,
           const std::filesystem::path& folder, const Platform& platform) {
    digests_ = parse_states(unsealed(stored(store, files[0]), platform));
    for (std::size_t i = 1; i < files.size(); ++i) {
      const auto path = folder / fmt::format("opened-{}.safetensors", i);
      write_file(path, unsealed(stored(store, files[i]), platform));
      paths_[digest_of_state(path)] = path;
    }
  }

  const StateDigests& digests() const { return digests_; }
  const Digest& digest(std::int64_t stage) const {
    return digests_[static_cast<std::size_t>(stage)];
  }
  const std::filesystem::path& state(std::int64_t stage) const {
    const auto found = paths_.find(digest(stage));
    if (found == paths_.end()) {
      throw fault(fmt::format("state {} was not opened", stage));
    }
    return found->second;
  }

 private:
  static std::string unsealed(const std::filesystem::path& path,
                              const Platform& platform) {
    if (!std::filesystem::exists(path)) {
      throw fault("a file of the evidence is not in the store");
    }
    return platform.unseal(path);
  }

  StateDigests digests_;
  std::map<Digest, std::filesystem::path> paths_;
};

// Throws what fault() makes, or what reading and computing made of a state that
// a worker made up.
void check_stages(const EnclaveOrder& order, const TrainingJob& job,
                  const Evidence& evidence) {
  const Checking& checking = order.job.checking;
  const Report& report = *checked_assignment(order.job).report;
  if (digest_of_states(evidence.digests()) != report.states ||
      std::ssize(evidence.digests()) != report.stages + 1) {
    throw fault("the states that were opened are not those of the report");
  }
  const SeeState compare = [&](std::int64_t stage, const auto& file) {
    if (digest_of_state(file) == evidence.digest(stage)) return;
    throw fault(stage == 0 ? "it does not begin as the recipe does"
                           : fmt::format("stage {} does not hold", stage));
  };
  const StageCut cut =
      train_stage(job, /*start=*/{}, checking.drawn[0] == 1 ? 1 : 0, compare);
  if (cut.stages != report.stages) {
    throw fault(fmt::format("the training has {} stages, and {} are reported",
                            cut.stages, report.stages));
  }
  for (const std::int64_t stage : checking.drawn) {
    if (stage == 1) continue;
    const std::filesystem::path& start = evidence.state(stage - 1);
    require_stage(job, cut, stage - 1, start);
    train_stage(job, start, stage, compare);
  }
  const std::filesystem::path& last = evidence.state(cut.stages);
  require_stage(job, cut, cut.stages, last);
  const std::int64_t best = best_stage(last, cut.stages, job.epochs);
  if (best > 0) require_stage(job, cut, best, evidence.state(best));
  const Trained trained =
      finish_job(job, last, best == 0 ? "" : evidence.state(best));
  const std::string& outputs =
      order.job.task == "training" ? trained.model : trained.metric;
  if (digest_of_bytes(outputs) != report.outputs) {
    throw fault("what was handed in does not follow from the last state");
  }
}

// Errors that a state can make which somebody made up: the recipe and the data
// are those of a job that was run, and have come as far as its beginning.
bool is_of_the_worker(ErrorCode code) {
  return code == ErrorCode::kDataLoss || code == ErrorCode::kNumeric ||
         code == ErrorCode::kUnsupported || code == ErrorCode::kInvalidArgument;
}

}  // namespace

CheckResult check_training(const EnclaveOrder& order, const Platform& platform,
                           const AskKeys& ask) {
  require_measured(order, platform);
  const Checker* checker = running_checker(order.job);
  if (checker == nullptr || checker->assignment.worker != order.worker ||
      checker->evidence.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "check",
                "the worker has no states of job {} to check", order.number);
  }
  const JobData data =
      open_job(order, checker->assignment.nonce, platform, ask);
  // The shards are whole before anything is held against the worker.
  data.shards->finish();
  CheckResult result;
  result.verdict = {.job = order.number,
                    .nonce = checker->assignment.nonce,
                    .states = checked_assignment(order.job).report->states,
                    .holds = true};
  const Scratch scratch(order.scratch);
  const TrainingJob job{.recipe = order.recipe,
                        .rows = data.rows,
                        .epochs = data.epochs,
                        .stage_steps = order.job.checking.stage_steps,
                        .scratch = scratch.folder()};
  try {
    check_stages(
        order, job,
        Evidence(checker->evidence, order.store, scratch.folder(), platform));
  } catch (const Error& error) {
    if (!is_of_the_worker(error.code())) throw;
    result.verdict.holds = false;
    result.fault = error.what();
  }
  result.signature = platform.quote(result.verdict);
  return result;
}

}  // namespace weft::market
