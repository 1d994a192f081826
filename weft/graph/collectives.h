// Sums and exchanges across ranks, as ops see them: declared here, carried out
// by whoever owns a network (weft/comm/graph).
//
// The graph is the same on all ranks, so all of them meet at the same ops in
// the same order. Ops that meet others have the trait kCollective and the
// attributes 'groups' and 'group_size', which RankGroups holds.
//
// Threads: the current Collectives is per thread, and used by that thread.
#pragma once

#include <exception>

#include "weft/graph/op.h"

namespace weft {

// A partition of the ranks 0, 1, … into groups of equal size.
struct RankGroups {
  Integers ranks;         // one group after another
  std::int64_t size = 1;  // how many each group has

  // All ranks in one group.
  static RankGroups whole(int ranks);
  // Those of a collective op.
  static RankGroups of(const Attributes& attributes);
  Attributes attributes() const;

  std::size_t count() const {
    return ranks.size() / static_cast<std::size_t>(size);
  }
  std::span<const std::int64_t> group(std::size_t index) const;
  // The group that `rank` is in, and its position there. Throws
  // Error(kInvalidArgument) if it is in none.
  std::span<const std::int64_t> group_of(int rank) const;
  std::int64_t position_of(int rank) const;

  bool operator==(const RankGroups&) const = default;
};

// What ranks do together. A group's tensors are of one type on all of its
// members; where a tensor has parts, they are equal, one per member, in the
// order of the group. Everything happens in place.
class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Replaces `whole` by the sum of the members' tensors. All three throw what
  // the network does.
  virtual void all_reduce(const TensorView& whole,
                          const RankGroups& groups) = 0;
  // The same for this rank's part; the other parts are then undefined.
  virtual void reduce_scatter(const TensorView& whole,
                              const RankGroups& groups) = 0;
  // Replaces all parts but this rank's by those of their members.
  virtual void all_gather(const TensorView& whole,
                          const RankGroups& groups) = 0;

  // For kernels, which do not throw: keeps what `body` throws, and does
  // nothing once that has happened.
  template <class Body>
  void attempt(Body&& body) noexcept {
    if (failure_) return;
    try {
      body();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  // Throws what attempt() kept, once.
  void throw_failure();

 private:
  std::exception_ptr failure_;
};

// That of the innermost scope on this thread, or null.
Collectives* current_collectives();

// Makes `collectives` this thread's own while it lives.
class CollectivesScope {
 public:
  explicit CollectivesScope(Collectives& collectives);
  ~CollectivesScope();
  CollectivesScope(const CollectivesScope&) = delete;
  CollectivesScope& operator=(const CollectivesScope&) = delete;

 private:
  Collectives* outer_;
};

// Whether an op with these attributes meets other ranks: groups of one member
// do not.
bool meets_other_ranks(const OpDef& op, const Attributes& attributes);
// To be called before an op that meets other ranks, and any before it, runs.
// Throws Error(kUnavailable) without current collectives, and
// Error(kInvalidArgument) if they join another number of ranks.
void require_collectives(const OpDef& op, const Attributes& attributes);

}  // namespace weft
