#include "weft/train/sync/worker_state.h"

#include <fmt/ranges.h>

#include "weft/train/step/all_finite.h"
#include "weft/train/sync/gather.h"
#include "weft/train/sync/slices.h"

namespace weft {
namespace {

// "rank 2", "ranks 1, 3".
std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s",
                     fmt::join(ranks, ", "));
}

// What a worker has beside what is trained and carried: running statistics, and
// what is frozen.
std::vector<NamedTensor> kept_beside(const StepDescription& description) {
  std::vector<NamedTensor> kept;
  for (const Entry& entry : description.entries()) {
    if (is_state(entry.role) && entry.role != EntryRole::kParameter &&
        entry.role != EntryRole::kCarried && entry.role != EntryRole::kSlot) {
      kept.push_back({entry.name, entry.memory});
    }
  }
  return kept;
}

// What equal copies have alike. A sum of two NaN has the bits of either, so
// that ranks may hold different ones: who writes the checkpoint refuses them,
// by the parameter's name.
std::string mark_of(const Tensor& tensor) {
  return all_finite(tensor) ? checksum_of(tensor) : "NaN or infinity";
}

std::string carried_name(int rank, const std::string& name) {
  return fmt::format("sync.carried.{}.{}", rank, name);
}

}  // namespace

WorkerState::WorkerState(const StepDescription& description, WorkerGroup& group)
    : group_(group),
      trainable_(description.tensors(EntryRole::kParameter)),
      statistics_(kept_beside(description)),
      batch_statistics_(description.tensors(EntryRole::kStatistic)),
      carried_(description.tensors(EntryRole::kCarried)) {}

std::vector<NamedTensor> WorkerState::changed_by_runs() const {
  std::vector<NamedTensor> changed = statistics_;
  changed.insert(changed.end(), carried_.begin(), carried_.end());
  return changed;
}

std::vector<NamedTensor> WorkerState::all(const SyncPolicy& policy) const {
  std::vector<NamedTensor> result;
  for (const auto* part : {&trainable_, &statistics_, &carried_}) {
    result.insert(result.end(), part->begin(), part->end());
  }
  // Tensors of other ranks are undefined here, and are theirs to look at.
  for (const OwnedTensor& owned : policy.state()) {
    if (owned.tensor.is_defined()) result.push_back({owned.name, owned.tensor});
  }
  return result;
}

std::string WorkerState::share_initial_weights() {
  std::vector<NamedTensor> weights = trainable_;
  weights.insert(weights.end(), statistics_.begin(), statistics_.end());
  std::string sums;
  for (const NamedTensor& named : weights) sums += checksum_of(named.tensor);
  const auto others = group_.others("initial weights", sums);
  if (others.empty()) return "";
  group_.run([&] {
    return broadcast_tensors(
        group_.communicator().open({"broadcast", "initial weights"}), 0,
        weights);
  });
  return fmt::format("initial weights of rank 0, as {} had others",
                     ranks_text(others));
}

void WorkerState::share_statistics() {
  group_.run([&] {
    return broadcast_tensors(
        group_.communicator().open({"broadcast", "statistics"}), 0,
        statistics_);
  });
}

void WorkerState::check_copies(std::int64_t number, bool has_copy) {
  std::vector<AgreedItem> items;
  for (const NamedTensor& named : trainable_) {
    items.push_back({named.name, mark_of(named.tensor)});
  }
  group_.agree(fmt::format("parameters after step {}", number + 1), items,
               "copies that were equal have come apart: a defect of Weft, or "
               "of one of these machines",
               has_copy);
}

std::vector<OwnedTensor> WorkerState::owned(const SyncPolicy& policy) const {
  std::vector<OwnedTensor> result = policy.state();
  for (int rank = 0; rank < group_.size(); ++rank) {
    for (const NamedTensor& named : carried_) {
      result.push_back({carried_name(rank, named.name), named.tensor.type(),
                        rank, rank == group_.rank() ? named.tensor : Tensor()});
    }
  }
  return result;
}

std::vector<NamedTensor> WorkerState::gather(const SyncPolicy& policy,
                                             std::int64_t number,
                                             bool has_copy) {
  // A checkpoint is worth a checksum of each parameter: copies that have come
  // apart are found before they are saved.
  check_copies(number, has_copy);
  std::vector<OwnedTensor> own = this->owned(policy);
  group_.run([&] {
    return gather_tensors(group_.communicator().open({"gather", "checkpoint"}),
                          0, own);
  });
  if (!group_.is_first()) return {};
  std::vector<NamedTensor> result = trainable_;
  result.insert(result.end(), statistics_.begin(), statistics_.end());
  for (OwnedTensor& each : own) {
    result.push_back({std::move(each.name), std::move(each.tensor)});
  }
  return join_slices(std::move(result), trainable_);
}

std::optional<CheckpointFile> WorkerState::newest(
    const std::optional<std::filesystem::path>& own, std::string& note) {
  std::vector<int> given;
  auto file = group_.share_checkpoint(own, given);
  if (file && !given.empty()) {
    note = fmt::format("{} continue{} from the checkpoint of rank 0",
                       ranks_text(given), given.size() == 1 ? "s" : "");
  }
  return file;
}

std::string WorkerState::restore(const CheckpointFile& file,
                                 SyncPolicy& policy) {
  const auto workers = file.info().metrics.find("workers");
  const int saved = workers == file.info().metrics.end()
                        ? 1
                        : static_cast<int>(workers->second);
  std::vector<CheckpointFile::Wanted> wanted;
  std::vector<Tensor> targets;
  for (const auto* part : {&trainable_, &statistics_}) {
    for (const NamedTensor& named : *part) {
      wanted.push_back({named.name, named.tensor.type()});
      targets.push_back(named.tensor);
    }
  }
  // Where an epoch begins, what is carried is zero whoever saved it. Within
  // one, its lanes are those of so many workers.
  if (!carried_.empty() && file.info().position.batch > 0) {
    if (saved != group_.size()) {
      throw refused(file.tensors().path().string(), "this checkpoint",
                    {fmt::format("{} workers", group_.size()),
                     fmt::format("{} saved it within an epoch of a model that "
                                 "carries state from batch to batch",
                                 saved),
                     fmt::format("continue with {} workers", saved)},
                    ErrorCode::kUnsupported);
    }
    for (const NamedTensor& named : carried_) {
      wanted.push_back(
          {saved == 1 ? named.name : carried_name(group_.rank(), named.name),
           named.tensor.type()});
      targets.push_back(named.tensor);
    }
  }
  // The rest of the file is the policy's, which reads it by name below.
  const std::vector<Tensor> tensors = file.read(wanted, /*allow_more=*/true);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    targets[i].copy_from(tensors[i]);
  }
  const SafetensorsFile& saved_tensors = file.tensors();
  const auto read = [&](const std::string& name) {
    return saved_tensors.find(name) == nullptr ? Tensor()
                                               : saved_tensors.read(name);
  };
  return policy.restore(
      [&](const std::string& name) { return read_slice(name, read); }, saved);
}

}  // namespace weft
