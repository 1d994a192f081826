// Enclaves that compute stages of another's training again.
#include "weft/market/recheck.h"

#include "tests/market/enclaves.h"

#include "weft/files/safetensors.h"
#include "weft/market/challenge.h"
#include "weft/market/checking.h"
#include "weft/market/job_data.h"
#include "weft/market/sealed_result.h"
#include "weft/market/stage_states.h"
#include "weft/market/training_run.h"
#include "weft/train/files/checkpoint.h"

namespace weft::test {
namespace {

// 80 of 100 examples in batches of 16 are 5 steps an epoch: two epochs in
// stages of 2 steps are 2 * 3 stages.
constexpr std::int64_t kEpochs = 2;
constexpr std::int64_t kStageSteps = 2;
constexpr std::int64_t kTrainedStages = 6;

class RecheckTest : public EnclaveTest {
 protected:
  RecheckTest() {
    checker_machine_.write(folder_.path() / "checker-machine.key");
    send(key_named("treasurer"), "deposit", deposit_of("checker", 1000));
    send(key_named("checker"), "offer",
         said()
             .key("machine", checker_machine_.public_key())
             .text("certificate",
                   market::to_hex(market::certify_machine(
                       key_named("vendor"), checker_machine_.public_key())))
             .number("price", 20)
             .number("stake", 100));
  }

  std::int64_t submit_checked(const std::string& task, std::int64_t draws) {
    const auto buyer = key_named("buyer");
    const auto& accounts = market_->current().accounts;
    const auto found = accounts.find(buyer.public_key());
    return submit(
        task, kEpochs, kEnclaveRecipe, 50'000, {},
        said()
            .number("checks", draws)
            .number("stage", kStageSteps)
            .number("check_gas", 40'000)
            .key("commitment",
                 market::first_commitment(
                     buyer, market_->current().market,
                     found == accounts.end() ? 0 : found->second.nonce)));
  }
  // Reports, draws, and opens what is asked for.
  void report_and_open(std::int64_t number,
                       const market::EnclaveResult& result) {
    report(result);
    send(key_named("buyer"), "reveal",
         said()
             .number("job", number)
             .key("secret", market::next_secret(key_named("buyer"),
                                                market_->current(), number)));
    open(number, job(number).checking.drawn);
  }
  void open(std::int64_t number, const std::vector<std::int64_t>& stages) {
    const market::EnclaveOrder ordered = order(number);
    const auto platform = market::software_platform(
        setting().machine, ordered.recipe, ordered.job.task);
    files_ =
        market::open_states(ordered.states, store(), *platform,
                            checker_machine_.public_key(), stages, kEpochs);
    if (market::running_checker(job(number))->evidence.empty()) {
      send(worker_, "open_states",
           said().number("job", number).all("evidence", files_));
    }
  }
  // As if those stages had been drawn.
  market::CheckResult check(std::int64_t number,
                            const std::vector<std::int64_t>& stages) {
    open(number, stages);
    market::WorkerSetting checkers = setting("checker-results");
    market::EnclaveOrder ordered = market::order_of(
        market_->current(), number, MarketScene::account("checker"), checkers);
    ordered.job.checking.drawn = stages;
    ordered.job.checking.checkers.back().evidence = files_;
    const auto platform =
        market::software_platform(folder_.path() / "checker-machine.key",
                                  ordered.recipe, ordered.job.task);
    return market::check_training(ordered, *platform, services());
  }
  void judge(const market::CheckResult& result) {
    const market::Verdict& verdict = result.verdict;
    send(key_named("checker"), "verdict",
         said()
             .number("job", verdict.job)
             .key("assignment", verdict.nonce)
             .key("measurement", verdict.measurement)
             .key("states", verdict.states)
             .flag("holds", verdict.holds)
             .text("signature", market::to_hex(result.signature)));
  }

  // What a worker reports that owns its machine, and so can have it sign
  // whatever it likes: `lie` is told of each state and may change it, and the
  // training goes on from there, honestly.
  market::EnclaveResult run_lying(
      std::int64_t number,
      const std::function<void(std::int64_t, const std::filesystem::path&)>&
          lie) {
    const market::EnclaveOrder ordered = order(number);
    const auto platform = market::software_platform(
        setting().machine, ordered.recipe, ordered.job.task);
    const market::Assignment& assignment = market::assignment_in(ordered);
    const market::JobData data =
        market::open_job(ordered, assignment.nonce, *platform, services());
    const market::Scratch scratch(ordered.scratch);
    const market::TrainingJob training{.recipe = ordered.recipe,
                                       .rows = data.rows,
                                       .epochs = data.epochs,
                                       .stage_steps = kStageSteps,
                                       .scratch = scratch.folder()};
    market::StateKeeper keeper(ordered.states, machine_.public_key());
    std::vector<std::filesystem::path> states;
    const auto keep = [&](std::int64_t stage, const auto& file) {
      const auto kept =
          scratch.folder() / fmt::format("kept-{}.safetensors", stage);
      std::filesystem::copy_file(
          file, kept, std::filesystem::copy_options::overwrite_existing);
      lie(stage, kept);
      keeper.keep(kept);
      states.push_back(kept);
    };
    market::train_stage(training, {}, 0, keep);
    for (std::int64_t stage = 1; stage <= kTrainedStages; ++stage) {
      market::train_stage(training, states.back(), stage, keep);
    }
    const std::int64_t best =
        market::best_stage(states.back(), kTrainedStages, kEpochs);
    market::EnclaveResult result;
    result.outputs =
        market::finish_job(
            training, states.back(),
            best == 0 ? "" : states[static_cast<std::size_t>(best)])
            .model;
    result.report = {
        .job = number,
        .nonce = assignment.nonce,
        .inputs = market::inputs_digest(ordered.job, ordered.contents),
        .outputs = market::digest_of_bytes(result.outputs),
        .status = market::JobStatus::kSuccess,
        .reads = ordered.job.reads_due,
        .values = {},
        .stages = kTrainedStages,
        .states = keeper.finish()};
    result.signature = platform->quote(result.report);
    return result;
  }

  market::SigningKey checker_machine_;
  std::vector<market::Digest> files_;
};

Checkpoint checkpoint_of(const std::filesystem::path& path) {
  const CheckpointFile file(path);
  Checkpoint checkpoint{.info = file.info(), .tensors = {}};
  for (const SafetensorsEntry& entry : file.tensors().entries()) {
    checkpoint.tensors.push_back(
        {entry.name, file.tensors().read(entry).clone()});
  }
  return checkpoint;
}

// Moves one weight, as a worker does that has not computed the step.
void change_weight(const std::filesystem::path& path) {
  Checkpoint checkpoint = checkpoint_of(path);
  for (NamedTensor& named : checkpoint.tensors) {
    if (named.tensor.dtype() != DType::kF32) continue;
    named.tensor.span<float>()[0] += 1e-3F;
    break;
  }
  write_checkpoint(path, checkpoint);
}

TEST_F(RecheckTest, FindsThatEachStageOfAnHonestWorkerHolds) {
  const std::int64_t number = submit_checked("training", 2);
  const market::EnclaveResult result = run(number);
  ASSERT_EQ(result.failure, "");
  EXPECT_EQ(result.report.stages, kTrainedStages);
  report_and_open(number, result);
  for (std::int64_t stage = 1; stage <= kTrainedStages; ++stage) {
    EXPECT_EQ(check(number, {stage}).fault, "");
  }
  const market::CheckResult all = check(number, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(all.verdict.holds) << all.fault;
  judge(all);
  EXPECT_EQ(job(number).state, market::JobState::kPaid);
}

TEST_F(RecheckTest, MakesTheSameModelWithAndWithoutChecks) {
  const std::int64_t checked = submit_checked("training", 2);
  const market::EnclaveResult first = run(checked);
  report_and_open(checked, first);
  judge(check(checked, job(checked).checking.drawn));
  const std::int64_t plain = submit("training", kEpochs);
  EXPECT_EQ(run(plain).outputs, first.outputs);
}

// Whatever stage is made up, it is found where that stage is drawn, and only
// there: so the probability is that of the sample.
TEST_F(RecheckTest, FindsALieInTheStageThatWasMadeUp) {
  const std::int64_t number = submit_checked("training", 2);
  constexpr std::int64_t kLie = 4;
  report_and_open(number,
                  run_lying(number, [](std::int64_t stage, const auto& file) {
                    if (stage == kLie) change_weight(file);
                  }));
  for (std::int64_t stage = 1; stage <= kTrainedStages; ++stage) {
    const market::CheckResult result = check(number, {stage});
    EXPECT_EQ(result.verdict.holds, stage != kLie) << stage << result.fault;
  }
  const market::CheckResult lie = check(number, {kLie});
  EXPECT_NE(lie.fault.find("stage 4 does not hold"), std::string::npos)
      << lie.fault;
  judge(lie);
  EXPECT_EQ(job(number).state, market::JobState::kChecking);
}

// A state from which no run can go on must be held against who made it up, and
// not end the checker, who would be late.
TEST_F(RecheckTest, FindsAStateThatSaysItIsElsewhere) {
  const std::int64_t number = submit_checked("training", 2);
  market::EnclaveResult result = run(number);
  const auto sealed = order(number).states / "state-4";
  const auto plain = folder_.path() / "changed.safetensors";
  std::ofstream(plain, std::ios::binary)
      << market::read_result(sealed, machine_);
  Checkpoint checkpoint = checkpoint_of(plain);
  checkpoint.info.position.batch = 1'000'000;
  write_checkpoint(plain, checkpoint);
  market::write_result(sealed, machine_.public_key(),
                       market::file_bytes(plain));
  const auto list = order(number).states / "states";
  auto states = market::parse_states(market::read_result(list, machine_));
  states[4] = market::digest_of_state(plain);
  market::write_result(list, machine_.public_key(), market::to_text(states));
  result.report.states = market::digest_of_states(states);
  result.signature = market::sign_report(machine_, result.report);
  report_and_open(number, result);
  EXPECT_NE(check(number, {5}).fault.find("and not behind stage 4"),
            std::string::npos);
  EXPECT_TRUE(check(number, {2}).verdict.holds);
}

TEST_F(RecheckTest, FindsABeginningThatIsNotTheRecipes) {
  const std::int64_t number = submit_checked("training", 2);
  report_and_open(number,
                  run_lying(number, [](std::int64_t stage, const auto& file) {
                    if (stage == 0) change_weight(file);
                  }));
  const market::CheckResult result = check(number, {5});
  EXPECT_NE(result.fault.find("does not begin as the recipe does"),
            std::string::npos)
      << result.fault;
}

TEST_F(RecheckTest, FindsAModelThatDoesNotFollowFromTheStates) {
  const std::int64_t number = submit_checked("training", 2);
  market::EnclaveResult result = run(number);
  result.report.outputs = MarketScene::digest("a model that was bought");
  result.signature = market::sign_report(machine_, result.report);
  report_and_open(number, result);
  EXPECT_NE(
      check(number, {2}).fault.find("does not follow from the last state"),
      std::string::npos);
}

TEST_F(RecheckTest, FindsStagesThatWereLeftOut) {
  const std::int64_t number = submit_checked("training", 1);
  market::EnclaveResult result = run(number);
  // It stops after an epoch, and says that this was all.
  const market::EnclaveOrder ordered = order(number);
  auto states = market::parse_states(
      market::read_result(ordered.states / "states", machine_));
  states.resize(4);
  market::write_result(ordered.states / "states", machine_.public_key(),
                       market::to_text(states));
  result.report.stages = 3;
  result.report.states = market::digest_of_states(states);
  result.signature = market::sign_report(machine_, result.report);
  report_and_open(number, result);
  EXPECT_NE(check(number, {1}).fault.find("has 6 stages, and 3 are reported"),
            std::string::npos);
}

TEST_F(RecheckTest, HoldsMissingAndDamagedStatesAgainstTheWorker) {
  const std::int64_t number = submit_checked("tryrun", 2);
  const market::EnclaveResult result = run(number);
  report_and_open(number, result);
  EXPECT_EQ(check(number, {2, 5}).fault, "");
  open(number, {5});
  const auto checked_with = [&](std::vector<market::Digest> files) {
    market::EnclaveOrder ordered = market::order_of(
        market_->current(), number, MarketScene::account("checker"),
        setting("checker-results"));
    ordered.job.checking.drawn = {5};
    ordered.job.checking.checkers.back().evidence = std::move(files);
    const auto platform =
        market::software_platform(folder_.path() / "checker-machine.key",
                                  ordered.recipe, ordered.job.task);
    return market::check_training(ordered, *platform, services()).fault;
  };
  EXPECT_NE(checked_with({files_[0]}).find("was not opened"),
            std::string::npos);
  EXPECT_NE(checked_with({MarketScene::digest("nowhere")}).find("not in the"),
            std::string::npos);
  std::ofstream(market::stored(store(), files_[1])) << "something else";
  EXPECT_NE(checked_with(files_), "");
}

}  // namespace
}  // namespace weft::test
