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
        compressor_(context.recipe, context.seed, context.buckets,
                    Compressor::Memory::kKept),
        dtype_(wire_dtype(compressor_.last_pipeline())),
        collective_(collective_of(context.recipe), std::move(network.topology)),
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
    Bytes coded;
    compressor_.encode_numbers(bucket, bucket.gradient(), step,
                               communicator_.rank(), coded);
    // They come last: where this task ends early, they end before the memory
    // that they write to.
    std::vector<Task<>> sums;
    if (parts.plain) {
      sums.push_back(parts.plain->run(
          std::as_writable_bytes(std::span(small)).data(), bucket.priority()));
    }
    if (parts.coded) {
      sums.push_back(parts.coded->run(coded.data(), bucket.priority()));
    }
    // Both sums have been entered by now, as exchange() must before it waits.
    const auto coded_bytes = static_cast<double>(4 * parts.coded_values);
    co_await Pause(communicator_.transport(), price_.encode * coded_bytes);
    co_await all_of(std::move(sums));
    co_await Pause(communicator_.transport(), price_.decode * coded_bytes);
    unpack(small, parts.small, bucket);
    // Messages of this codec are added as numbers, so their sum is read as one
    // of them, and who sent it draws nothing.
    ByteReader in(coded, "sum of gradients");
    for (const BucketMember& member : parts.large) {
      compressor_.last_pipeline().value_codec().decode(
          in, MessageId{}, part_of(bucket.gradient(), member));
    }
  }

  std::vector<NamedTensor> memory() const override {
    return compressor_.memory();
  }
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
    std::size_t coded_values = 0;
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
    for (const BucketMember& member : bucket.members()) {
      const bool is_small = compressor_.last_pipeline().bypasses(
          static_cast<std::int64_t>(member.size));
      (is_small ? parts.small : parts.large).push_back(member);
      (is_small ? small : parts.coded_values) += member.size;
    }
    if (small > 0) {
      parts.plain = collective_.prepare(communicator_, DType::kF32, small,
                                        "small tensors of " + bucket.text());
    }
    if (parts.coded_values > 0) {
      parts.coded = collective_.prepare(communicator_, dtype_,
                                        parts.coded_values, bucket.text());
    }
    return parts;
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
  Compressor compressor_;
  DType dtype_;
  DenseCollective collective_;
  SyncPrice price_;
  std::vector<Parts> parts_;  // by bucket
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
