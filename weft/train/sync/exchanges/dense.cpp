// Whole gradients in a dense all-reduce, as f32 or as a 16-bit type that sums
// travel in too.
#include <algorithm>
#include <optional>

#include "weft/comm/sparse/all_reduce.h"
#include "weft/train/sync/dense_collective.h"
#include "weft/train/sync/exchange.h"

namespace weft {
namespace {

DType wire_dtype(const Pipeline& pipeline) {
  // There is one, as this exchange declines other codecs.
  return *dtype_from_string(pipeline.summable_as());
}

class DenseExchange : public Exchange {
 public:
  DenseExchange(const SyncContext& context, Network network)
      : communicator_(std::move(network.communicator)),
        seed_(context.seed),
        codec_(pipeline_text(context.recipe),
               {.min_elements = context.recipe.min_elements}),
        dtype_(wire_dtype(codec_)),
        collective_(collective_of(context.recipe), std::move(network.topology)),
        memory_kind_(context.recipe.memory),
        price_(context.price) {
    // Buckets stay as they are, so each all-reduce is checked and named once.
    for (const Bucket& bucket : context.buckets) {
      parts_.push_back(dtype_ == DType::kF32 ? prepare_whole(bucket)
                                             : prepare(bucket));
    }
  }

  Task<> sum(Bucket& bucket, SyncStep step) override {
    Parts& parts = parts_[bucket.number()];
    if (dtype_ == DType::kF32) {
      // Plain gradients are summed where they lie, gaps and all.
      co_await parts.plain->run(
          std::as_writable_bytes(bucket.gradient()).data(), bucket.priority());
      co_return;
    }
    // Members are packed, since whether one travels through the codec depends
    // on its size, and each kind is one all-reduce.
    std::vector<float> small = packed(bucket, parts.small);
    std::vector<float> large = packed(bucket, parts.large);
    const MessageId id{seed_, bucket.number(),
                       static_cast<std::uint32_t>(step.number),
                       static_cast<std::uint32_t>(communicator_.rank())};
    Bytes bytes;
    // They come last: where this task ends early, they end before the memory
    // that they write to.
    std::vector<Task<>> sums;
    if (parts.plain) {
      sums.push_back(parts.plain->run(
          std::as_writable_bytes(std::span(small)).data(), bucket.priority()));
    }
    if (parts.coded) {
      encode(large, parts.residual, id, static_cast<float>(step.lr), bytes);
      sums.push_back(parts.coded->run(bytes.data(), bucket.priority()));
    }
    // Both sums have been entered by now, as exchange() must before it waits.
    const auto coded_bytes = static_cast<double>(4 * large.size());
    co_await Pause(communicator_.transport(), price_.encode * coded_bytes);
    co_await all_of(std::move(sums));
    co_await Pause(communicator_.transport(), price_.decode * coded_bytes);
    if (parts.coded) {
      // Messages of this codec are added as numbers, so their sum is read as
      // one of them.
      ByteReader in(bytes, "sum of gradients");
      codec_.value_codec().decode(in, id, large);
    }
    unpack(small, parts.small, bucket);
    unpack(large, parts.large, bucket);
  }

  std::vector<NamedTensor> memory() const override { return memory_; }
  std::string text() const override {
    return fmt::format("all_reduce({}) of {}", collective_.text(),
                       to_string(dtype_));
  }

 private:
  // A bucket in two parts: one travels as it is, the other through the codec.
  struct Parts {
    std::vector<BucketMember> small;
    std::vector<BucketMember> large;
    std::optional<PreparedAllReduce> plain;
    std::optional<PreparedAllReduce> coded;
    Tensor residual;  // of `large`, one after the other; undefined: none
  };

  Parts prepare_whole(const Bucket& bucket) {
    Parts parts;
    parts.plain = collective_.prepare(communicator_, dtype_,
                                      bucket.gradient().size(), bucket.text());
    return parts;
  }

  Parts prepare(const Bucket& bucket) {
    Parts parts;
    std::size_t small = 0;
    std::size_t large = 0;
    for (const BucketMember& member : bucket.members()) {
      const bool is_small =
          codec_.bypasses(static_cast<std::int64_t>(member.size));
      (is_small ? parts.small : parts.large).push_back(member);
      (is_small ? small : large) += member.size;
    }
    if (small > 0) {
      parts.plain = collective_.prepare(communicator_, DType::kF32, small,
                                        "small tensors of " + bucket.text());
    }
    if (large == 0) return parts;
    parts.coded =
        collective_.prepare(communicator_, dtype_, large, bucket.text());
    if (memory_kind_ == "none") return parts;
    parts.residual = Tensor::zeros({DType::kF32, {static_cast<Dim>(large)}});
    std::int64_t begin = 0;
    for (const BucketMember& member : parts.large) {
      const auto end = begin + static_cast<std::int64_t>(member.size);
      memory_.push_back(
          {"residual." + member.name, parts.residual.slice(begin, end)});
      begin = end;
    }
    return parts;
  }

  // Leaves what rounding takes away in the memory, if there is one. At a rate
  // of 0 a memory of updates stays as it is (compressor.h).
  void encode(std::span<const float> gradient, const Tensor& memory,
              const MessageId& id, float rate, Bytes& bytes) const {
    ByteWriter out(bytes);
    if (memory_kind_ != "updates") rate = 1;
    if (!memory.is_defined() || rate == 0) {
      codec_.value_codec().encode(gradient, id, {}, out);
      return;
    }
    const auto residual = memory.span<float>();
    // A memory of updates holds rate * gradient (compressor.h), and the codec
    // is given gradients.
    for (std::size_t i = 0; i < residual.size(); ++i) {
      residual[i] = residual[i] / rate + gradient[i];
    }
    // The residual may be the very values that are encoded (codec.h).
    codec_.value_codec().encode(residual, id, residual, out);
    if (rate == 1) return;
    for (float& value : residual) value *= rate;
  }

  static std::vector<float> packed(const Bucket& bucket,
                                   std::span<const BucketMember> members) {
    std::vector<float> values;
    for (const BucketMember& member : members) {
      const auto part = part_of(bucket.gradient(), member);
      values.insert(values.end(), part.begin(), part.end());
    }
    return values;
  }

  static void unpack(std::span<const float> values,
                     std::span<const BucketMember> members,
                     const Bucket& bucket) {
    for (const BucketMember& member : members) {
      std::ranges::copy(values.first(member.size),
                        part_of(bucket.gradient(), member).begin());
      values = values.subspan(member.size);
    }
  }

  Communicator communicator_;
  std::uint64_t seed_;
  Pipeline codec_;
  DType dtype_;
  DenseCollective collective_;
  std::string memory_kind_;
  SyncPrice price_;
  std::vector<Parts> parts_;  // by bucket
  std::vector<NamedTensor> memory_;
};

std::string sparse_names() {
  std::string list;
  for (const auto& def : sparse_all_reduce_registry().all()) {
    list += (list.empty() ? "" : ", ") + def.name;
  }
  return list;
}

std::optional<Refusal> dense_declines(const Pipeline& codec, const Options&) {
  if (codec.has_plain_entries()) {
    return Refusal{
        in_quotes(codec.text()),
        "it adds dense gradients, and workers pick different entries",
        "collective = \"auto\", or one of: " + sparse_names() +
            "; or sparsify = \"randomk(0.01)\", whose entries are the same "
            "everywhere"};
  }
  if (codec.summable_as() == "") return cannot_be_added(codec);
  if (!codec.is_sparse()) return std::nullopt;
  return Refusal{in_quotes(codec.text()),
                 "the entries that are picked travel alone", ""};
}

}  // namespace

void register_exchange_dense(ExchangeRegistry& exchanges) {
  exchanges.add(
      {.name = "dense",
       .summary = "whole gradients in a dense all-reduce",
       .order = 10,
       .collectives = [] { return entries_of(all_reduce_registry()); },
       .declines = dense_declines,
       .make = [](const SyncContext& context,
                  std::optional<Network> network) -> std::unique_ptr<Exchange> {
         return std::make_unique<DenseExchange>(context, std::move(*network));
       }});
}

}  // namespace weft
