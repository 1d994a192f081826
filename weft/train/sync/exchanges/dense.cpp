// Whole gradients in a dense all-reduce, as f32 or as a 16-bit type that sums
// travel in too.
#include "weft/train/sync/dense_collective.h"
#include "weft/train/sync/exchange.h"

namespace weft {
namespace {

DType wire_dtype(const Pipeline& pipeline) {
  return *dtype_from_string(pipeline.summable_as());
}

class DenseExchange : public Exchange {
 public:
  DenseExchange(const SyncContext& context, Network network)
      : communicator_(std::move(network.communicator)),
        seed_(context.seed),
        codec_(pipeline_text(context.recipe)),
        dtype_(wire_dtype(codec_)),
        collective_(context.recipe.collective, std::move(network.topology)) {
    for (const Bucket& bucket : context.buckets) {
      sums_.push_back(collective_.prepare(
          communicator_, dtype_, bucket.gradient().size(), bucket.text()));
    }
    if (dtype_ == DType::kF32) return;
    for (const Bucket& bucket : context.buckets) {
      residuals_.push_back(Tensor::zeros(
          {DType::kF32, {static_cast<Dim>(bucket.gradient().size())}}));
      for (const BucketMember& member : bucket.members()) {
        const auto begin = static_cast<std::int64_t>(member.offset);
        memory_.push_back(
            {"residual." + member.name,
             residuals_.back().slice(
                 begin, begin + static_cast<std::int64_t>(member.size))});
      }
    }
  }

  Task<> sum(Bucket& bucket, SyncStep step) override {
    const PreparedAllReduce& sum = sums_[bucket.number()];
    if (dtype_ == DType::kF32) {
      co_await sum.run(std::as_writable_bytes(bucket.gradient()).data());
      co_return;
    }
    const MessageId id{seed_, bucket.number(),
                       static_cast<std::uint32_t>(step.number),
                       static_cast<std::uint32_t>(communicator_.rank())};
    const auto residual = residuals_[bucket.number()].span<float>();
    for (std::size_t i = 0; i < residual.size(); ++i) {
      residual[i] += bucket.gradient()[i];
    }
    Bytes bytes;
    ByteWriter out(bytes);
    codec_.value_codec().encode(residual, id, residual, out);
    co_await sum.run(bytes.data());
    ByteReader in(bytes, "sum of gradients");
    codec_.value_codec().decode(in, id, bucket.gradient());
  }

  std::vector<NamedTensor> memory() const override { return memory_; }
  std::string text() const override {
    return fmt::format("all_reduce({}) of {}", collective_.text(),
                       to_string(dtype_));
  }

 private:
  Communicator communicator_;
  std::uint64_t seed_;
  Pipeline codec_;
  DType dtype_;
  DenseCollective collective_;
  std::vector<PreparedAllReduce> sums_;  // by bucket
  std::vector<Tensor> residuals_;        // by bucket; none for f32
  std::vector<NamedTensor> memory_;
};

}  // namespace

std::unique_ptr<Exchange> make_dense_exchange(const SyncContext& context,
                                              Network network) {
  return std::make_unique<DenseExchange>(context, std::move(network));
}

}  // namespace weft
