#include "weft/train/sync/compressor.h"

#include <algorithm>

#include "weft/comm/codec/pipeline_text.h"

namespace weft {
namespace {

// The share that is sent in an epoch of warm-up.
double warmup_ratio(std::int64_t epoch, double ratio) {
  double sent = 1;
  // The share falls as in Deep Gradient Compression: 25 %, 6.25 %, …
  for (std::int64_t i = 0; i <= epoch && sent > ratio; ++i) sent /= 4;
  return std::max(sent, ratio);
}

// The pipeline with another ratio of its sparsifier.
std::string with_ratio(const std::string& text, std::int64_t epoch) {
  PipelineText parsed = parse_pipeline(text);
  WEFT_CHECK(parsed.sparsifier.has_value());
  OptionValue& ratio = parsed.sparsifier->options.at("ratio");
  ratio = warmup_ratio(epoch, std::get<double>(ratio));
  return to_string(parsed);
}

// A memory of updates holds rate x gradient (Stich et al., 2018), and a
// pipeline adds gradients to it: it is in units of gradients as long as this
// lives, also where encoding throws and leaves it as it was.
class InGradients {
 public:
  InGradients(std::span<float> memory, float rate)
      : memory_(rate == 1 ? std::span<float>() : memory), rate_(rate) {
    for (float& value : memory_) value /= rate_;
  }
  ~InGradients() {
    for (float& value : memory_) value *= rate_;
  }
  InGradients(const InGradients&) = delete;
  InGradients& operator=(const InGradients&) = delete;

 private:
  std::span<float> memory_;
  float rate_;
};

}  // namespace

std::string pipeline_text(const SyncRecipe& recipe) {
  if (recipe.sparsify == "none") return recipe.codec;
  return recipe.codec == "none" ? recipe.sparsify
                                : recipe.sparsify + " | " + recipe.codec;
}

std::int64_t default_min_elements(const SyncRecipe& recipe) {
  // What it stands for is known only once the network has been measured.
  if (recipe.codec == "auto") return SyncRecipe().min_elements;
  return Pipeline(pipeline_text(recipe)).value_codec().min_elements();
}

Compressor::Compressor(const SyncRecipe& recipe, std::uint64_t seed,
                       std::span<const Bucket> buckets, Memory kept)
    : seed_(seed) {
  if (recipe.memory == "none") kept = Memory::kNone;
  // What a server sends back are changes of parameters, which have no momentum
  // to correct.
  if (kept == Memory::kKept) momentum_ = recipe.momentum_correction;
  holds_updates_ = recipe.memory == "updates";
  const std::string text = pipeline_text(recipe);
  const PipelineOptions options{.min_elements = recipe.min_elements};
  for (std::int64_t epoch = 0; epoch < recipe.warmup_epochs; ++epoch) {
    // Each epoch of warm-up has a pipeline of its own; the last one is for all
    // that follow.
    pipelines_.emplace_back(with_ratio(text, epoch), options);
  }
  pipelines_.emplace_back(text, options);
  const Pipeline& last = pipelines_.back();
  for (const Bucket& bucket : buckets) {
    for (const BucketMember& member : bucket.members()) {
      const std::size_t index = member.parameter;
      // Buckets list parameters from the last to the first, so the first index
      // that comes is the largest.
      memory_.resize(std::max(memory_.size(), index + 1));
      names_.resize(memory_.size());
      names_[index] = member.name;
      const TensorType type{DType::kF32, {static_cast<Dim>(member.size)}};
      if (kept == Memory::kKept && last.needs_feedback() &&
          !last.bypasses(static_cast<std::int64_t>(member.size))) {
        memory_[index].residual = Tensor::zeros(type);
      }
      // A tensor that bypasses the codec has momentum like all others, as the
      // optimizer then has none.
      if (momentum_ > 0) memory_[index].velocity = Tensor::zeros(type);
    }
  }
}

const Pipeline& Compressor::pipeline(std::int64_t epoch) const {
  const auto last = static_cast<std::int64_t>(pipelines_.size()) - 1;
  return pipelines_[static_cast<std::size_t>(std::min(epoch, last))];
}

MessageId Compressor::id_of(const BucketMember& member, const SyncStep& step,
                            int sender) const {
  // The number is the tensor's and not the bucket's: what is drawn for a tensor
  // does not depend on the size of buckets.
  return {seed_, static_cast<std::uint32_t>(member.parameter),
          static_cast<std::uint32_t>(step.number),
          static_cast<std::uint32_t>(sender)};
}

template <class Encode>
std::span<float> Compressor::with_memory(const Bucket& bucket,
                                         const BucketMember& member,
                                         std::span<const float> values,
                                         const SyncStep& step, int sender,
                                         const Encode& encode) {
  const TensorMemory& memory = memory_[member.parameter];
  std::span<const float> gradient = part_of(values, member);
  std::span<float> velocity;
  if (memory.velocity.is_defined()) {
    velocity = memory.velocity.span<float>();
    const auto momentum = static_cast<float>(momentum_);
    for (std::size_t i = 0; i < velocity.size(); ++i) {
      // The velocity is sent in the place of the gradient (Deep Gradient
      // Compression, section 3.2).
      velocity[i] = momentum * velocity[i] + gradient[i];
    }
    gradient = velocity;
  }
  std::span<float> residual;
  if (memory.residual.is_defined()) residual = memory.residual.span<float>();
  const float rate = holds_updates_ ? static_cast<float>(step.lr) : 1;
  // At a rate of 0 nothing that is sent, or is not, changes anything.
  if (rate == 0) residual = {};
  try {
    const InGradients units(residual, rate);
    encode(gradient, residual, id_of(member, step, sender));
  } catch (Error& error) {
    error.detail("tensor: " + member.name).detail("in: " + bucket.text());
    throw;
  }
  return velocity;
}

Message& Compressor::encode_member(const Bucket& bucket,
                                   const BucketMember& member,
                                   std::span<const float> values,
                                   const SyncStep& step, int sender) {
  const Pipeline& pipeline = this->pipeline(step.epoch);
  message_.bytes.clear();
  const std::span<float> velocity =
      with_memory(bucket, member, values, step, sender,
                  [&](std::span<const float> gradient, std::span<float> memory,
                      const MessageId& id) {
                    pipeline.encode(gradient, memory, id, message_);
                  });
  // A tensor that bypassed the stages was sent whole, and its velocity goes on
  // as plain momentum does.
  if (!velocity.empty() &&
      !pipeline.bypasses(static_cast<std::int64_t>(member.size))) {
    // Momentum factor masking (Deep Gradient Compression): momentum that was
    // sent does not push the same entry again.
    for (const std::uint32_t index : message_.sent.indices) velocity[index] = 0;
  }
  return message_;
}

void Compressor::encode(const Bucket& bucket, std::span<const float> values,
                        const SyncStep& step, int sender, Bytes& message) {
  message.clear();
  ByteWriter out(message);
  for (const BucketMember& member : bucket.members()) {
    const Bytes& bytes =
        encode_member(bucket, member, values, step, sender).bytes;
    // A message does not say where it ends, so its length stands before it.
    out.write_varint(bytes.size());
    out.write_all(std::span<const std::byte>(bytes));
  }
}

void Compressor::encode_numbers(const Bucket& bucket,
                                std::span<const float> values,
                                const SyncStep& step, int sender,
                                Bytes& numbers) {
  const Pipeline& pipeline = this->pipeline(step.epoch);
  numbers.clear();
  ByteWriter out(numbers);
  for (const BucketMember& member : bucket.members()) {
    if (pipeline.bypasses(static_cast<std::int64_t>(member.size))) continue;
    with_memory(bucket, member, values, step, sender,
                [&](std::span<const float> gradient, std::span<float> memory,
                    const MessageId& id) {
                  pipeline.encode_numbers(gradient, memory, id, out);
                });
  }
}

void Compressor::sparsify(const Bucket& bucket, std::span<const float> values,
                          const SyncStep& step, int sender,
                          SparseEntries& entries) {
  entries.size = static_cast<std::uint32_t>(values.size());
  entries.indices.clear();
  entries.values.clear();
  const Pipeline& pipeline = this->pipeline(step.epoch);
  SparseEntries sent;
  for (const BucketMember& member : bucket.members()) {
    const Message& message =
        encode_member(bucket, member, values, step, sender);
    // The message is decoded instead of taking message.sent, which is not there
    // for a tensor that bypassed the stages.
    pipeline.decode_sparse(message.bytes, id_of(member, step, sender),
                           static_cast<std::uint32_t>(member.size), sent);
    // Members lie by their offsets, so indices ascend over the whole bucket.
    for (const std::uint32_t index : sent.indices) {
      entries.indices.push_back(
          static_cast<std::uint32_t>(member.offset + index));
    }
    entries.values.insert(entries.values.end(), sent.values.begin(),
                          sent.values.end());
  }
}

std::size_t Compressor::most_message_bytes(const Bucket& bucket) const {
  // A value takes up to 6 bytes, as one with a bucket of its own that is
  // written by Elias's code, and its index as many, as in a Bloom filter.
  const std::size_t words = last_pipeline().is_sparse() ? 3 : 2;
  return words * bucket.bytes() + 1024 * bucket.members().size();
}

std::optional<std::uint64_t> Compressor::entry_count(const Bucket& bucket,
                                                     std::int64_t epoch) const {
  std::uint64_t all = 0;
  for (const BucketMember& member : bucket.members()) {
    const auto count =
        pipeline(epoch).entry_count(static_cast<std::uint32_t>(member.size));
    // One tensor whose number depends on its values makes the sum unknown.
    if (!count) return std::nullopt;
    all += *count;
  }
  return all;
}

void Compressor::add_decoded(const Bucket& bucket,
                             std::span<const std::byte> message,
                             const SyncStep& step, int sender,
                             std::span<float> sum) const {
  ByteReader in(message, "gradients");
  const Pipeline& pipeline = this->pipeline(step.epoch);
  // These buffers are no members, as several threads may decode at once.
  std::vector<float> values;
  SparseEntries entries;
  for (const BucketMember& member : bucket.members()) {
    const auto length = in.read_varint("length of a tensor");
    const auto bytes = in.take(length, member.name);
    const MessageId id = id_of(member, step, sender);
    const std::span<float> target = part_of(sum, member);
    if (pipeline.is_sparse()) {
      pipeline.decode_sparse(bytes, id, static_cast<std::uint32_t>(member.size),
                             entries);
      for (std::size_t i = 0; i < entries.indices.size(); ++i) {
        target[entries.indices[i]] += entries.values[i];
      }
    } else {
      values.resize(member.size);
      pipeline.decode(bytes, id, values);
      for (std::size_t i = 0; i < values.size(); ++i) target[i] += values[i];
    }
  }
  in.expect_end();
}

std::vector<NamedTensor> Compressor::memory() const {
  std::vector<NamedTensor> result;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const TensorMemory& memory = memory_[i];
    if (memory.residual.is_defined()) {
      result.push_back({"residual." + names_[i], memory.residual});
    }
    if (memory.velocity.is_defined()) {
      result.push_back({"velocity." + names_[i], memory.velocity});
    }
  }
  return result;
}

}  // namespace weft
