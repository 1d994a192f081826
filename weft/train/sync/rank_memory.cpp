#include "weft/train/sync/rank_memory.h"

#include <algorithm>

namespace weft {
namespace {

std::string name_of(int rank, const std::string& name) {
  return fmt::format("sync.{}.{}", rank, name);
}

}  // namespace

std::vector<OwnedTensor> rank_memory(const std::vector<NamedTensor>& own,
                                     const Communicator& communicator) {
  std::vector<OwnedTensor> result;
  // All ranks list the tensors of all, in one order: gathering goes by the
  // list.
  for (int rank = 0; rank < communicator.size(); ++rank) {
    for (const NamedTensor& named : own) {
      result.push_back({name_of(rank, named.name), named.tensor.type(), rank,
                        rank == communicator.rank() ? named.tensor : Tensor()});
    }
  }
  return result;
}

std::string restore_rank_memory(
    const std::vector<NamedTensor>& own, const Communicator& communicator,
    const std::function<Tensor(const std::string&)>& read, int ranks) {
  std::size_t missing = 0;
  for (const NamedTensor& named : own) {
    // All ranks save the same names, so the first one's speak for all.
    if (!read(name_of(0, named.name)).is_defined()) ++missing;
    const auto target = named.tensor.span<float>();
    std::ranges::fill(target, 0.0f);
    // What ranks that are no more had left unsent is taken over by those that
    // are.
    for (int rank = communicator.rank(); rank < ranks;
         rank += communicator.size()) {
      const Tensor saved = read(name_of(rank, named.name));
      if (!saved.is_defined()) continue;
      // A parameter that was cut into slices is saved in its own shape, and one
      // that travels whole as a row.
      if (saved.dtype() != DType::kF32 || saved.size() != named.tensor.size()) {
        throw Error(ErrorCode::kDataLoss, name_of(rank, named.name),
                    "is {} in the checkpoint, where {} was expected",
                    to_string(saved.type()), to_string(named.tensor.type()));
      }
      const auto source = saved.span<float>();
      for (std::size_t i = 0; i < target.size(); ++i) target[i] += source[i];
    }
  }
  if (missing == 0) return "";
  return fmt::format(
      "the checkpoint has no memory of what was not sent for {} of {} tensors: "
      "these begin with none",
      missing, own.size());
}

}  // namespace weft
