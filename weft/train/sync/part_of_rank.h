// Which part of the data a rank of a run takes.
//
// Threads: as the sources that `make` gives.
#pragma once

#include <memory>

#include "weft/data/idle_source.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/sync/roles.h"
#include "weft/train/sync/worker_group.h"

namespace weft {

// The batches that this rank computes on: its part of what `make` gives for a
// shard, all of it without a group, and batches without examples for a rank
// that only serves.
template <class Make>
std::unique_ptr<BatchSource> part_of_rank(const SyncRecipe& recipe,
                                          const WorkerGroup* group,
                                          const Make& make) {
  if (group == nullptr) return make(Shard());
  const Roles roles(group->size(), recipe.servers);
  auto part = make(roles.shard_of(group->rank()));
  if (roles.is_worker(group->rank())) return part;
  return std::make_unique<IdleSource>(*part);
}

}  // namespace weft
