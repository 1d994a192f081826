// A parameter server that is spread over the workers: each bucket has an owner
// that holds the true parameters and the optimizer's state for it.
//
//   push  each worker sends its gradients, through the codec and its own
//         memory, to the owner, which adds them in the order of ranks
//   pull  the owner updates the true parameters and sends, through the codec
//         and once, how they differ from the workers': the same bytes to every
//         worker, itself included
//
// So all workers hold the same bits. That difference is the pull memory of
// Lim, Andersen and Kaminsky ("3LC", MLSys 2019, section 3): what was not sent
// yet, here without a buffer that rounding could part from the truth.
#include <algorithm>
#include <cstring>

#include "weft/train/step/step.h"
#include "weft/train/sync/aggregation_rule.h"
#include "weft/train/sync/auto_codec.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/policy.h"
#include "weft/train/sync/rank_memory.h"

namespace weft {
namespace {

class ServerPolicy : public SyncPolicy {
 public:
  explicit ServerPolicy(const SyncContext& context)
      : communicator_(context.communicator),
        network_(context.network),
        price_(context.price),
        rule_(make_rule(context.recipe)),
        buckets_(context.buckets),
        trainable_(context.trainable.begin(), context.trainable.end()),
        push_(context.recipe, context.seed, context.buckets,
              Compressor::Memory::kKept),
        // Rounding at random on the way back draws other numbers than on the
        // way there.
        pull_(context.recipe, context.seed + 1, context.buckets,
              Compressor::Memory::kNone),
        text_(pipeline_text(context.recipe)) {
    for (const Bucket& bucket : buckets_) {
      served_.push_back(serve(bucket, context));
    }
  }

  Task<> exchange(Bucket& bucket, SyncStep step) override {
    // Both are opened before anything is waited for, in the same order on all
    // ranks.
    const Channel push = communicator_.open({"push", bucket.text()});
    const Channel pull = communicator_.open({"pull", bucket.text()});
    Served& served = served_[bucket.number()];
    const int owner = owner_of(bucket);
    push_.encode(bucket, bucket.gradient(), step, push.rank(), served.message);
    const auto bytes_of_bucket = static_cast<double>(bucket.bytes());
    co_await push.pause(price_.encode * bytes_of_bucket);
    if (push.rank() != owner) {
      Transfer sent = push.send(owner, served.message);
      co_await sent;
      served.room.resize(most_message_bytes(bucket));
      Transfer received = pull.receive(owner, served.room);
      const std::size_t bytes = co_await received;
      served.message.assign(
          served.room.begin(),
          served.room.begin() + static_cast<std::ptrdiff_t>(bytes));
      co_return;
    }
    co_await collect(push, bucket, step, served);
    update(bucket, step, served);
    // It has decoded everyone's messages, updated, and encoded the change.
    co_await push.pause(
        (push.size() * price_.decode + price_.update + price_.encode) *
        bytes_of_bucket);
    Transfers sent(pull);
    for (int worker = 0; worker < pull.size(); ++worker) {
      if (worker != owner) sent.send(worker, served.message);
    }
    co_await sent.all();
  }

  // The pulled changes, once backward reads the parameters no more.
  void apply(const SyncStep& step) override {
    double bytes = 0;
    for (const Bucket& bucket : buckets_) {
      bytes += static_cast<double>(bucket.bytes());
      Served& served = served_[bucket.number()];
      std::ranges::fill(bucket.gradient(), 0.0f);
      pull_.add_decoded(bucket, served.message, step, owner_of(bucket),
                        bucket.gradient());
      for (const BucketMember& member : bucket.members()) {
        const auto change = part_of(bucket.gradient(), member);
        const auto values = trainable_[member.parameter].tensor.span<float>();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += change[i];
      }
    }
    network_.charge(price_.decode * bytes);
  }

  std::vector<OwnedTensor> state() const override {
    std::vector<OwnedTensor> result =
        rank_memory(push_.memory(), communicator_);
    for (const Bucket& bucket : buckets_) {
      const Served& served = served_[bucket.number()];
      for (const NamedTensor& named : served.state) {
        result.push_back({named.name, named.tensor.type(), owner_of(bucket),
                          is_owner(bucket) ? named.tensor : Tensor()});
      }
    }
    return result;
  }

  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int ranks) override {
    std::string note =
        restore_rank_memory(push_.memory(), communicator_, read, ranks);
    for (const Bucket& bucket : buckets_) {
      if (!is_owner(bucket)) continue;
      Served& served = served_[bucket.number()];
      for (const NamedTensor& named : served.state) {
        const Tensor saved = read(named.name);
        if (saved.is_defined()) named.tensor.copy_from(saved);
      }
      // A checkpoint of another policy has no true parameters of its own.
      for (std::size_t i = 0; i < bucket.members().size(); ++i) {
        const auto& member = bucket.members()[i];
        if (!read("sync.server." + member.name).is_defined()) {
          served.parameters[i].copy_from(trainable_[member.parameter].tensor);
        }
      }
    }
    return note;
  }

  std::string text() const override {
    return fmt::format("server for each of {} buckets, push and pull of {}",
                       buckets_.size(), text_);
  }

 private:
  // What the owner of a bucket keeps; the messages are everyone's.
  struct Served {
    std::vector<Tensor> parameters;  // the true ones, by member
    std::unique_ptr<Step> update;
    std::vector<NamedTensor> state;  // all of it, also where not owned
    std::vector<float> difference;   // from the workers', laid out as bucket
    Bytes message;
    Bytes room;
  };

  int owner_of(const Bucket& bucket) const {
    return static_cast<int>(bucket.number()) % communicator_.size();
  }
  bool is_owner(const Bucket& bucket) const {
    return owner_of(bucket) == communicator_.rank();
  }

  Served serve(const Bucket& bucket, const SyncContext& context) {
    Served served;
    std::vector<NamedTensor> parameters;
    std::vector<Tensor> gradients;
    for (const BucketMember& member : bucket.members()) {
      served.parameters.push_back(trainable_[member.parameter].tensor.clone());
      parameters.push_back({member.name, served.parameters.back()});
      gradients.push_back(bucket.gradient_of(member));
      served.state.push_back(
          {"sync.server." + member.name, served.parameters.back()});
    }
    StepDescription update(context.optimizer, parameters, context.clip_norm);
    update.set_gradients(gradients);
    served.update = std::make_unique<Step>(update, StepCut::kUpdate);
    for (NamedTensor& slot : update.tensors(EntryRole::kSlot)) {
      served.state.push_back(std::move(slot));
    }
    served.difference.resize(bucket.gradient().size());
    return served;
  }

  // The sum of all workers' decoded gradients, in the bucket.
  Task<> collect(const Channel& push, const Bucket& bucket, SyncStep step,
                 Served& served) {
    std::vector<Bytes> messages(static_cast<std::size_t>(push.size()));
    Transfers received(push);
    for (int worker = 0; worker < push.size(); ++worker) {
      if (worker == push.rank()) continue;
      Bytes& room = messages[static_cast<std::size_t>(worker)];
      room.resize(most_message_bytes(bucket));
      received.receive(worker, room);
    }
    std::vector<std::size_t> sizes(messages.size());
    for (std::size_t worker = 0, next = 0; worker < messages.size(); ++worker) {
      if (static_cast<int>(worker) == push.rank()) continue;
      Transfer& message = received[next++];
      sizes[worker] = co_await message;
    }
    std::ranges::fill(bucket.gradient(), 0.0f);
    std::vector<std::vector<float>> all;  // where a rule wants each by itself
    for (std::size_t worker = 0; worker < messages.size(); ++worker) {
      const bool is_own = static_cast<int>(worker) == push.rank();
      const std::span<const std::byte> message =
          is_own ? std::span<const std::byte>(served.message)
                 : std::span<const std::byte>(messages[worker])
                       .first(sizes[worker]);
      if (rule_ != nullptr) all.emplace_back(bucket.gradient().size());
      push_.add_decoded(
          bucket, message, step, static_cast<int>(worker),
          rule_ != nullptr ? std::span(all.back()) : bucket.gradient());
    }
    if (rule_ != nullptr) combine_as_sum(*rule_, all, bucket.gradient());
  }

  // The true parameters change; the message is how they differ then.
  void update(const Bucket& bucket, const SyncStep& step, Served& served) {
    served.update->run({}, {.lr = step.lr, .number = step.number});
    for (std::size_t i = 0; i < bucket.members().size(); ++i) {
      const BucketMember& member = bucket.members()[i];
      const auto difference = part_of(std::span(served.difference), member);
      const auto truth = served.parameters[i].span<float>();
      const auto copy = trainable_[member.parameter].tensor.span<float>();
      for (std::size_t j = 0; j < truth.size(); ++j) {
        difference[j] = truth[j] - copy[j];
      }
    }
    pull_.encode(bucket, served.difference, step, owner_of(bucket),
                 served.message);
  }

  Communicator& communicator_;
  AsyncEngine& network_;
  SyncPrice price_;
  std::unique_ptr<AggregationRule> rule_;  // null: all are added
  std::span<Bucket> buckets_;
  std::vector<NamedTensor> trainable_;
  Compressor push_;
  Compressor pull_;
  std::vector<Served> served_;
  std::string text_;
};

// A pull that corrects the ones before it must converge.
std::optional<Refusal> server_declines(const Options&,
                                       const SyncRecipe& recipe) {
  // "auto" chooses among codecs that do.
  if (recipe.codec == "auto") return std::nullopt;
  const Pipeline pipeline(pipeline_text(recipe));
  const auto refusal = pipeline.declines_feedback();
  if (!refusal) return std::nullopt;
  return Refusal{fmt::format("codec '{}'", pipeline.text()),
                 "each change of the model corrects what the ones before left "
                 "out, and " +
                     refusal->because,
                 refusal->instead +
                     "; policy = \"allreduce\" sends gradients alone and needs "
                     "no corrections of this codec"};
}

// Messages go to the owners of all buckets, and come from them: each owns its
// share. An owner decodes everyone's messages of its share, and encodes its
// change, which all decode.
double server_seconds(const Options&, const CodecSpeed& codec,
                      const Topology& network, double bytes) {
  const Level level = flat_level(network);
  const double sent = codec.ratio * bytes * (level.size - 1) / level.size;
  return bytes * ((1 + 1.0 / network.ranks()) * codec.encode_seconds_per_byte +
                  2 * codec.decode_seconds_per_byte) +
         2 * (level.latency + sent * level.seconds_per_byte);
}

}  // namespace

void register_sync_policy_server(SyncPolicyRegistry& policies) {
  policies.add(
      {.name = "server",
       .summary = "owners of parameters collect gradients and send changes",
       .updates_whole_model = false,
       .takes_rules = true,
       .declines = server_declines,
       // An owner sees the gradients of its own buckets only.
       .clips_first = [](const Options&, const SyncRecipe&) { return true; },
       .seconds = server_seconds,
       .make = [](const Options&,
                  const SyncContext& context) -> std::unique_ptr<SyncPolicy> {
         return std::make_unique<ServerPolicy>(context);
       }});
}

}  // namespace weft
