#include "weft/market/enclave.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/data/loader.h"
#include "weft/market/job_data.h"
#include "weft/market/points.h"
#include "weft/market/sealed_result.h"
#include "weft/market/stage_states.h"
#include "weft/market/subset.h"
#include "weft/market/training_run.h"
#include "weft/train/model_in_use.h"

namespace weft::market {
namespace {

constexpr std::int64_t kFolds = 5;
constexpr double kValueMillionths = 1e6;
constexpr std::int64_t kInferenceBatch = 256;

// A job that is under way.
struct RunningJob {
  const EnclaveOrder& order;
  const Platform& platform;
  JobData data;
};

// The enclave commits itself to the states of a training that may be checked,
// and keeps them for its machine alone.
Trained train_in(const RunningJob& running, Report& report) {
  const EnclaveOrder& order = running.order;
  const Scratch scratch(order.scratch);
  const TrainingJob job{.recipe = order.recipe,
                        .rows = running.data.rows,
                        .epochs = running.data.epochs,
                        .stage_steps = order.job.checking.stage_steps,
                        .scratch = scratch.folder()};
  if (order.job.checking.draws == 0) return train_job(job);
  StateKeeper keeper(order.states, running.platform.machine());
  Trained trained = train_job(
      job, [&](std::int64_t, const auto& file) { keeper.keep(file); });
  report.stages = std::ssize(keeper.digests()) - 1;
  report.states = keeper.finish();
  return trained;
}

std::string predict_in(const RunningJob& running) {
  const Scratch scratch(running.order.scratch);
  const std::filesystem::path path =
      stored(running.order.store, running.order.job.model);
  if (digest_of_file(path) != running.order.job.model) {
    throw Error(ErrorCode::kDataLoss, path.string(),
                "is not the model that the job names");
  }
  const auto model = open_model(path);
  const ModelFunction predict = model->functions()(kPredictFunction);
  Loader loader(running.data.rows, {.batch = kInferenceBatch, .prefetch = 2});
  const std::size_t known = loader.inputs().size() - 1;  // the label is not
  std::vector<NamedTensor> predictions;
  for (std::int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
    const Batch& batch = loader.next();
    const std::vector<Tensor> results =
        predict(std::span(batch.tensors).first(known));
    for (std::size_t j = 0; j < results.size(); ++j) {
      predictions.push_back({fmt::format("batch.{}.{}", i, j), results[j]});
    }
  }
  const std::filesystem::path file = scratch.folder() / "predictions";
  write_safetensors(file, predictions);
  return file_bytes(file);
}

// Values of shards, by the examples of each among all.
std::string value_in(const RunningJob& running,
                     std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> all(
      static_cast<std::size_t>(running.data.rows->size()));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  const Points points = points_of(*running.data.rows, all);
  const std::vector<double> each =
      cross_validated_knn_shapley(points.view(), kFolds);
  const std::vector<std::int64_t> sizes = examples_by_shard(
      parse_subset(running.order.job.subset, running.data.shards->size()),
      running.data.shards->sizes());
  std::string text = "{\"values\":[";
  std::size_t row = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < sizes[i]; ++j) sum += each[row++];
    // Data that do harm are paid nothing, and nobody pays for having them.
    values.push_back(std::llround(std::max(0.0, sum) * kValueMillionths));
    text += fmt::format("{}{:.17g}", i == 0 ? "" : ",", sum);
  }
  return text + "]}\n";
}

std::string outputs_of(const RunningJob& running, Report& report) {
  const std::string& task = running.order.job.task;
  if (task == "training") return train_in(running, report).model;
  // Only the metric leaves of a try, so that no data leave with a model.
  if (task == "tryrun") return train_in(running, report).metric;
  if (task == "inference") return predict_in(running);
  return value_in(running, report.values);
}

void run_checked(const EnclaveOrder& order, const Digest& nonce,
                 const Platform& platform, const AskKeys& ask,
                 EnclaveResult& result) {
  const RunningJob running{order, platform,
                           open_job(order, nonce, platform, ask)};
  result.outputs = outputs_of(running, result.report);
  const JobData& data = running.data;
  data.shards->finish();
  result.report.reads = data.shards->reads(data.epochs);
  result.report.status = data.epochs < order.job.epochs ? JobStatus::kPartial
                                                        : JobStatus::kSuccess;
}

}  // namespace

std::filesystem::path stored(const std::filesystem::path& store,
                             const Digest& digest) {
  return store / to_hex(digest);
}

void check_recipe(const std::string& text) {
  const Recipe recipe = parse_recipe(text, "the job's recipe");
  const TrainRecipe& train = recipe.train;
  const auto declined = [](const char* key, const char* because,
                           const char* instead) {
    return Error(ErrorCode::kInvalidArgument, key,
                 "a job's recipe declines this, because {}", because)
        .hint(instead);
  };
  if (train.eval_every != 1) {
    throw declined("train.eval_every",
                   "what is read in an epoch must be each example once",
                   "leave it at 1");
  }
  if (train.patience != 0 || train.max_steps != 0) {
    throw declined("train.patience, train.max_steps",
                   "what is paid for is known before",
                   "leave them out, and ask for fewer epochs");
  }
  if (train.drop_last) {
    throw declined("train.drop_last", "each example of an epoch is read",
                   "leave it out");
  }
  if (!recipe.simulate.network.empty()) {
    throw declined("simulate.network", "a job trains on one machine",
                   "leave it out");
  }
}

EnclaveResult run_order(const EnclaveOrder& order, const Platform& platform,
                        const AskKeys& ask) {
  require_measured(order, platform);
  const Assignment& assignment = assignment_in(order);
  EnclaveResult result;
  result.report.job = order.number;
  result.report.nonce = assignment.nonce;
  result.report.inputs = inputs_digest(order.job, order.contents);
  try {
    run_checked(order, assignment.nonce, platform, ask, result);
  } catch (const Error& error) {
    result.failure = error.what();
    result.outputs.clear();
    result.report.values.assign(
        order.job.pays_by_value ? order.contents.size() : 0, 0);
    result.report.reads.assign(order.contents.size(), 0);
    result.report.stages = 0;
    result.report.states = {};
    result.report.status = JobStatus::kError;
  }
  result.report.outputs = digest_of_bytes(result.outputs);
  result.signature = platform.quote(result.report);
  return result;
}

}  // namespace weft::market
