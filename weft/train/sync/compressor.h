// The compressed path of a bucket's gradients: per tensor, the pipeline of the
// recipe with its memory of what was not sent.
//
//   [momentum correction] -> + residual -> sparsifier -> codec -> message
//
// Momentum correction and warm-up: Lin et al., "Deep Gradient Compression",
// ICLR 2018, sections 3.2 and 3.3. Momentum is applied before sparsifying, so
// that what is sent late carries it; where an entry is sent, its velocity is
// cleared. During warm-up a quarter of what is kept back each epoch is kept
// back in the next: 25 %, 6.25 %, … down to the recipe's ratio.
//
// A memory holds gradients, or with [sync] memory = "updates" gradients times
// the rate of their step: what is sent late is then applied at the rate at
// which it arose, and the memories' sum is how far the model is from that of
// dense SGD (Alistarh et al., "The Convergence of Sparsified Gradient Methods",
// NeurIPS 2018; Stich et al., "Sparsified SGD with Memory", NeurIPS 2018). At a
// rate of 0 such a memory stays as it is.
//
// Threads: one at a time; add_decoded() from any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/comm/codec/pipeline.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/sync/bucket.h"
#include "weft/train/sync/policy.h"

namespace weft {

// The pipeline that [sync] sparsify and codec make together, "none" left out.
// What "auto" stands for must be settled.
std::string pipeline_text(const SyncRecipe& recipe);

// What [sync] min_elements is where a recipe does not say: the codec's.
std::int64_t default_min_elements(const SyncRecipe& recipe);

class Compressor {
 public:
  // Whether what is not sent is kept here for the next time, and momentum
  // corrected; or the caller sees to it.
  enum class Memory { kKept, kNone };

  Compressor(const SyncRecipe& recipe, std::uint64_t seed,
             std::span<const Bucket> buckets, Memory memory);

  // The pipeline after warm-up, and that of an epoch.
  const Pipeline& last_pipeline() const { return pipelines_.back(); }
  const Pipeline& pipeline(std::int64_t epoch) const;

  // Replaces `message` by the messages of all members: what `values`, laid out
  // as the bucket, and the memory make. Throws Error(kNumeric) that names the
  // tensor for a value that is not finite.
  void encode(const Bucket& bucket, std::span<const float> values,
              const SyncStep& step, int sender, Bytes& message);
  // Replaces `numbers` by those that the codec makes of the members that do not
  // bypass it, one after the other: for codecs whose messages are added on
  // their way (Pipeline::encode_numbers). Throws as encode() does.
  void encode_numbers(const Bucket& bucket, std::span<const float> values,
                      const SyncStep& step, int sender, Bytes& numbers);
  // The entries of the whole bucket that encode() would send, by position in
  // the bucket, and what the memory keeps of it.
  void sparsify(const Bucket& bucket, std::span<const float> values,
                const SyncStep& step, int sender, SparseEntries& entries);
  // Room for any message that encode() makes of the bucket.
  std::size_t most_message_bytes(const Bucket& bucket) const;
  // How many entries sparsify() finds in any values; nothing where that
  // depends on them.
  std::optional<std::uint64_t> entry_count(const Bucket& bucket,
                                           std::int64_t epoch) const;
  // Adds a message of `sender` to `sum`. Throws Error(kDataLoss).
  void add_decoded(const Bucket& bucket, std::span<const std::byte> message,
                   const SyncStep& step, int sender,
                   std::span<float> sum) const;

  // "residual.NAME" and "velocity.NAME" of each tensor that has them.
  std::vector<NamedTensor> memory() const;

 private:
  struct TensorMemory {
    Tensor residual;  // undefined: the codec needs none
    Tensor velocity;  // undefined: no momentum correction
  };

  // Calls encode(gradient, memory, id) with what the member sends and its
  // memory, which is of gradients meanwhile. Gives its velocity, if it has one.
  template <class Encode>
  std::span<float> with_memory(const Bucket& bucket, const BucketMember& member,
                               std::span<const float> values,
                               const SyncStep& step, int sender,
                               const Encode& encode);
  Message& encode_member(const Bucket& bucket, const BucketMember& member,
                         std::span<const float> values, const SyncStep& step,
                         int sender);
  MessageId id_of(const BucketMember& member, const SyncStep& step,
                  int sender) const;

  std::vector<Pipeline> pipelines_;  // of the epochs of warm-up; then for ever
  std::uint64_t seed_;
  double momentum_ = 0;
  bool holds_updates_ = false;
  std::vector<TensorMemory> memory_;  // by trainable parameter
  std::vector<std::string> names_;    // by trainable parameter
  Message message_;
};

}  // namespace weft
