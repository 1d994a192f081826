#include "weft/market/enclave.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/base/file.h"
#include "weft/data/loader.h"
#include "weft/market/points.h"
#include "weft/market/shard_set.h"
#include "weft/market/subset.h"
#include "weft/market/work_units.h"
#include "weft/train/model_in_use.h"
#include "weft/train/step/loaded_data.h"
#include "weft/train/trained_model.h"
#include "weft/train/trainer.h"

namespace weft::market {
namespace {

constexpr std::int64_t kFolds = 5;
constexpr double kValueMillionths = 1e6;
constexpr std::int64_t kInferenceBatch = 256;

// A job that is under way: its data, and what it makes.
struct RunningJob {
  const EnclaveOrder& order;
  std::shared_ptr<const ShardSet> shards;
  DatasetRef rows = nullptr;  // that the job reads
  std::int64_t epochs = 0;    // that its gas pays for
};

// Removes what a job leaves on the disk, however it ends.
class Scratch {
 public:
  explicit Scratch(std::filesystem::path folder) : folder_(std::move(folder)) {
    create_folders(folder_);
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

std::string whole_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()),
          file.bytes().size()};
}

std::vector<std::int64_t> rows_of(const std::vector<ExampleRange>& ranges) {
  std::vector<std::int64_t> rows;
  for (const ExampleRange& range : ranges) {
    for (std::int64_t row = range.first; row <= range.last; ++row) {
      rows.push_back(row);
    }
  }
  return rows;
}

ShardKeys fetch_keys(const EnclaveOrder& order, const Digest& nonce,
                     const Platform& platform, const AskKeys& ask) {
  const KeyChannel channel;
  KeyRequest request{.job = order.number,
                     .nonce = nonce,
                     .channel = channel.public_key(),
                     .contents = order.contents};
  const Signature signature = platform.quote(request);
  ShardKeys keys;
  for (const std::string& box : ask(request, signature)) {
    keys.merge(channel.open(box));
  }
  return keys;
}

std::shared_ptr<const ShardSet> open_shards(const EnclaveOrder& order,
                                            const ShardKeys& keys) {
  std::vector<NamedShard> shards;
  for (const Digest& content : order.contents) {
    const auto key = keys.find(content);
    if (key == keys.end()) {
      throw Error(ErrorCode::kUnavailable, "enclave",
                  "nobody released the key of shard {}", to_hex(content));
    }
    shards.push_back({.path = stored(order.store, content),
                      .content = content,
                      .key = key->second});
  }
  auto set = std::make_shared<const ShardSet>(shards);
  if (set->sizes() != order.examples) {
    throw Error(ErrorCode::kInvalidArgument, "enclave",
                "shards have other numbers of examples than the market says");
  }
  return set;
}

struct Trained {
  std::string model;   // a file that stands alone
  std::string metric;  // one line of JSON
};

Trained train_in(const RunningJob& running) {
  const Scratch scratch(running.order.scratch);
  Recipe recipe = parse_recipe(running.order.recipe, "the job's recipe");
  recipe.train.epochs = running.epochs;
  recipe.log.folder = (scratch.folder() / "run").string();
  const GivenObjects given{
      .data = loaded_data(hold_out_fifth(running.rows), data_options(recipe))};
  TrainObserver silent;
  Trainer trainer(recipe, {.name = "job", .given = given});
  const TrainResult result = trainer.run(silent);
  const double metric = result.test.get(result.deciding.name);
  Trained trained;
  trained.metric =
      fmt::format("{{\"{}\":{:.17g}}}\n", result.deciding.name, metric);
  TrainedModel model = load_trained(result.checkpoint, {}, given);
  // How long it took, and where, is left out: what another machine makes of the
  // job must be the same bytes.
  recipe.log.folder.clear();
  model.info.recipe = to_toml(recipe);
  model.info.metrics = {{result.deciding.name, metric}};
  const std::filesystem::path file = scratch.folder() / "model.weft";
  export_trained(model, file);
  trained.model = whole_file(file);
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
  Loader loader(running.rows, {.batch = kInferenceBatch, .prefetch = 2});
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
  return whole_file(file);
}

// Values of shards, by the examples of each among all.
std::string value_in(const RunningJob& running,
                     std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(running.rows->size()));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  const Points points = points_of(*running.rows, all);
  const std::vector<double> each =
      cross_validated_knn_shapley(points.view(), kFolds);
  const std::vector<std::int64_t> sizes = examples_by_shard(
      parse_subset(running.order.job.subset, running.shards->size()),
      running.shards->sizes());
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
  if (task == "training") return train_in(running).model;
  // Only the metric leaves of a try, so that no data leave with a model.
  if (task == "tryrun") return train_in(running).metric;
  if (task == "inference") return predict_in(running);
  return value_in(running, report.values);
}

const Assignment& assignment_in(const EnclaveOrder& order) {
  for (const Assignment& assignment : order.job.assignments) {
    if (assignment.worker == order.worker &&
        assignment.state == AssignmentState::kRunning) {
      return assignment;
    }
  }
  throw Error(ErrorCode::kInvalidArgument, "enclave",
              "the worker does not run job {}", order.number);
}

void check_order(const EnclaveOrder& order, const Dataset& rows) {
  const Job& job = order.job;
  const bool trains = job.task == "training" || job.task == "tryrun";
  if (!trains && job.epochs != 1) {
    throw Error(ErrorCode::kInvalidArgument, "epochs",
                "{} reads its examples once, not {} times", job.task,
                job.epochs);
  }
  if (job.task == "valuation" || order.recipe.empty()) return;
  if (trains) check_recipe(order.recipe);
  const std::int64_t units = units_per_example(
      parse_recipe(order.recipe, "the job's recipe"), rows, job.task);
  if (units != job.units_per_example) {
    throw Error(ErrorCode::kInvalidArgument, "units_per_example",
                "an example is {} units of work, and the job says {}", units,
                job.units_per_example);
  }
}

void run_checked(const EnclaveOrder& order, const Digest& nonce,
                 const Platform& platform, const AskKeys& ask,
                 EnclaveResult& result) {
  RunningJob running{
      .order = order,
      .shards = open_shards(order, fetch_keys(order, nonce, platform, ask))};
  running.rows =
      subset(running.shards,
             rows_of(parse_subset(order.job.subset, running.shards->size())));
  check_order(order, *running.rows);
  running.epochs =
      std::min(order.job.epochs, order.job.most_reads / running.rows->size());
  if (running.epochs == 0) {
    throw Error(ErrorCode::kExhausted, "gas",
                "it does not pay for one epoch of {} examples",
                running.rows->size());
  }
  result.outputs = outputs_of(running, result.report);
  running.shards->finish();
  result.report.reads = running.shards->reads(running.epochs);
  result.report.status = running.epochs < order.job.epochs
                             ? JobStatus::kPartial
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
  if (platform.measurement() != order.job.measurement) {
    throw Error(ErrorCode::kInvalidArgument, "enclave",
                "job {} is for another program or recipe: {} is measured here, "
                "and it asks for {}",
                order.number, to_hex(platform.measurement()),
                to_hex(order.job.measurement))
        .hint("decline it: weft market send … decline");
  }
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
    result.report.status = JobStatus::kError;
  }
  result.report.outputs = digest_of_bytes(result.outputs);
  result.signature = platform.quote(result.report);
  return result;
}

}  // namespace weft::market
