#include "weft/market/job_data.h"

#include <algorithm>

#include "weft/base/file.h"
#include "weft/market/subset.h"
#include "weft/market/work_units.h"

namespace weft::market {
namespace {

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

}  // namespace

Scratch::Scratch(std::filesystem::path folder) : folder_(std::move(folder)) {
  create_folders(folder_);
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

const Assignment& assignment_in(const EnclaveOrder& order) {
  const Assignment* assignment = running_assignment(order.job, order.worker);
  if (assignment != nullptr) return *assignment;
  throw Error(ErrorCode::kInvalidArgument, "enclave",
              "the worker does not run job {}", order.number);
}

void require_measured(const EnclaveOrder& order, const Platform& platform) {
  if (platform.measurement() == order.job.measurement) return;
  throw Error(ErrorCode::kInvalidArgument, "enclave",
              "job {} is for another program or recipe: {} is measured here, "
              "and it asks for {}",
              order.number, to_hex(platform.measurement()),
              to_hex(order.job.measurement))
      .hint("decline it: weft market send … decline");
}

JobData open_job(const EnclaveOrder& order, const Digest& nonce,
                 const Platform& platform, const AskKeys& ask) {
  JobData data{.shards =
                   open_shards(order, fetch_keys(order, nonce, platform, ask))};
  data.rows =
      subset(data.shards,
             rows_of(parse_subset(order.job.subset, data.shards->size())));
  check_order(order, *data.rows);
  data.epochs =
      std::min(order.job.epochs, order.job.most_reads / data.rows->size());
  if (data.epochs == 0) {
    throw Error(ErrorCode::kExhausted, "gas",
                "it does not pay for one epoch of {} examples",
                data.rows->size());
  }
  return data;
}

}  // namespace weft::market
