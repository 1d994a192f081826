// A parameter server that is spread over the workers: each bucket has an owner
// that holds the true parameters and the optimizer's state for it.
//
//   push  each worker sends its gradients, through the codec and its own
//         memory, to the owner, which adds them in the order of ranks
//   pull  the owner updates the true parameters and sends, through the codec
//         and once, how they differ from the workers': the same bytes to every
//         worker, itself included
//
// Gradients may arrive in part, where a network loses some: what is missing is
// NaN, for a rule that bears it (Damaskinos et al., "AGGREGATHOR: Byzantine
// Machine Learning via Robust Gradient Aggregation", MLSys 2019, section 3.3).
// Parameters always arrive whole.
//
// Ranks that only serve do the same ([sync] servers). Where a quorum suffices,
// the owner goes on without those that come later, whose gradients are lost
// (Chen, Pan, Monga, Bengio and Jozefowicz, "Revisiting Distributed Synchronous
// SGD", 2016: backup workers).
//
// So all workers hold the same bits. That difference is the pull memory of
// Lim, Andersen and Kaminsky ("3LC", MLSys 2019, section 3): what was not sent
// yet, here without a buffer that rounding could part from the truth.
#include <algorithm>
#include <cstring>

#include "weft/base/ranges.h"
#include "weft/train/step/step.h"
#include "weft/train/sync/arrivals.h"
#include "weft/train/sync/auto_codec.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/credit_queue.h"
#include "weft/train/sync/policy.h"
#include "weft/train/sync/rank_memory.h"
#include "weft/train/sync/rule_run.h"
#include "weft/train/sync/shared_message.h"

namespace weft {
namespace {

Quorum quorum_of(const Options& options) {
  return {.least = static_cast<int>(option<std::int64_t>(options, "quorum")),
          .deadline = option<double>(options, "deadline")};
}

class ServerPolicy : public SyncPolicy {
 public:
  ServerPolicy(const Options& options, const SyncContext& context)
      : communicator_(context.communicator),
        network_(context.network),
        price_(context.price),
        roles_(context.roles),
        quorum_(quorum_of(options)),
        in_part_(option<bool>(options, "in_part")),
        rule_(context, RuleRun::Holders::kOwner),
        buckets_(context.buckets),
        trainable_(context.trainable.begin(), context.trainable.end()),
        push_(context.recipe, context.seed, context.buckets,
              Compressor::Memory::kKept),
        // Rounding at random on the way back draws other numbers than on the
        // way there.
        pull_(context.recipe, context.seed + 1, context.buckets,
              Compressor::Memory::kNone),
        queue_(context.recipe.credit),
        text_(pipeline_text(context.recipe)) {
    for (int rank = 0; rank < roles_.workers(); ++rank) {
      workers_.push_back(rank);
    }
    for (const Bucket& bucket : buckets_) {
      served_.push_back(serve(bucket, context));
    }
  }

  // Where some may be late, nobody is waited for to count.
  bool meets(const SyncStep& step) const override {
    return quorum_.least == 0 || step.must_meet;
  }

  Task<> exchange(Bucket& bucket, SyncStep step) override {
    // Both are opened before anything is waited for, in the same order on all
    // ranks.
    const Channel push =
        communicator_.open({"push", bucket.text(), bucket.priority()});
    const Channel pull =
        communicator_.open({"pull", bucket.text(), bucket.priority()});
    rule_.enter(bucket, step);
    Served& served = served_[bucket.number()];
    const int owner = roles_.owner_of(bucket.number());
    if (is_worker()) encode_push(bucket, step, served);
    const auto bytes_of_bucket = static_cast<double>(bucket.bytes());
    if (push.rank() == owner) {
      begin_arrivals(push, bucket, served);
      if (is_worker()) served.arrivals->add_own(served.message);
    }
    if (is_worker()) co_await push.pause(price_.encode * bytes_of_bucket);
    if (push.rank() != owner) {
      // A server has no use for what others serve.
      if (!is_worker()) co_return;
      // GCC 12 destroys twice what is chosen inside of a co_await expression.
      Task<> sending = in_part_
                           ? send_lossy_message(push, owner, served.message)
                           : send_message(push, owner, served.message);
      co_await queue_.pass(bucket.priority(), served.message.size(),
                           std::move(sending));
      served.room.resize(most_message_bytes(bucket));
      Transfer received = pull.receive(owner, served.room);
      const std::size_t bytes = co_await received;
      served.message.assign(
          served.room.begin(),
          served.room.begin() + static_cast<std::ptrdiff_t>(bytes));
      co_return;
    }
    co_await collect(bucket, step, *served.arrivals);
    update(bucket, step, served);
    // It has decoded everyone's messages, made something of them, updated, and
    // encoded the change.
    co_await push.pause((roles_.workers() * price_.decode + price_.rule +
                         price_.update + price_.encode) *
                        bytes_of_bucket);
    std::vector<Task<>> sent;
    for (const Arrivals::Message& of : served.arrivals->messages()) {
      if (of.from == owner) continue;
      if (of.is_there) {
        sent.push_back(
            queue_.pass(bucket.priority(), served.message.size(),
                        send_message(pull, of.from, served.message)));
      } else {
        // Who is late listens late, and is not waited for.
        late_sends_.push_back(
            send_late(pull, of.from, served.message, bucket.priority()));
        late_sends_.back().start();
      }
    }
    co_await all_of(std::move(sent));
  }

  // The pulled change, once backward reads the parameters no more.
  void apply(Bucket& bucket, const SyncStep& step) override {
    const int owner = roles_.owner_of(bucket.number());
    if (!is_worker() && communicator_.rank() != owner) return;
    Served& served = served_[bucket.number()];
    std::ranges::fill(bucket.gradient(), 0.0f);
    pull_.add_decoded(bucket, served.message, step, owner, bucket.gradient());
    for (const BucketMember& member : bucket.members()) {
      const auto change = part_of(bucket.gradient(), member);
      const auto values = trainable_[member.parameter].tensor.span<float>();
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += change[i];
    }
    network_.charge(price_.decode * static_cast<double>(bucket.bytes()));
  }

  // Nothing of a step is under way when workers have met after it.
  void end_step(const SyncStep& step) override {
    if (!step.must_meet || quorum_.least == 0) return;
    network_.wait(network_.submit([this] { return wait_for_late(); }));
  }

  std::vector<OwnedTensor> state() const override {
    std::vector<OwnedTensor> result =
        rank_memory(push_.memory(), communicator_);
    for (OwnedTensor& kept : rule_.state()) result.push_back(std::move(kept));
    for (const Bucket& bucket : buckets_) {
      const Served& served = served_[bucket.number()];
      for (const NamedTensor& named : served.state) {
        result.push_back({named.name, named.tensor.type(),
                          roles_.owner_of(bucket.number()),
                          is_owner(bucket) ? named.tensor : Tensor()});
      }
    }
    return result;
  }

  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int ranks) override {
    std::string note =
        restore_rank_memory(push_.memory(), communicator_, read, ranks);
    note += (note.empty() ? "" : "\n") + rule_.restore(read);
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

  Figures figures() const override { return rule_.figures(); }

  std::string text() const override {
    std::string text =
        fmt::format("server for each of {} buckets{}, push and pull of {}",
                    buckets_.size(), roles_.text(), text_);
    if (quorum_.least > 0) {
      text += fmt::format(", {} of {} workers suffice after {:g} s",
                          quorum_.least, roles_.workers(), quorum_.deadline);
    }
    return text;
  }

 private:
  // What the owner of a bucket keeps; the messages are everyone's.
  struct Served {
    std::vector<Tensor> parameters;  // the true ones, by member
    std::unique_ptr<Step> update;
    std::vector<NamedTensor> state;  // all of it, also where not owned
    std::vector<float> difference;   // from the workers', laid out as bucket
    std::unique_ptr<Arrivals> arrivals;  // of the last step
    Bytes message;
    Bytes room;
  };

  bool is_worker() const { return roles_.is_worker(communicator_.rank()); }
  bool is_owner(const Bucket& bucket) const {
    return roles_.owner_of(bucket.number()) == communicator_.rank();
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

  void encode_push(const Bucket& bucket, const SyncStep& step, Served& served) {
    if (in_part_) {
      // Each value is to be read by itself, and so travels as it is.
      const auto values = std::as_bytes(bucket.gradient());
      served.message.assign(values.begin(), values.end());
      return;
    }
    push_.encode(bucket, bucket.gradient(), step, communicator_.rank(),
                 served.message);
    append_share(step.share, served.message);
  }

  Task<> send_late(Channel pull, int worker, Bytes message, int priority) {
    co_await queue_.pass(priority, message.size(),
                         send_message(std::move(pull), worker, message));
  }

  void begin_arrivals(const Channel& push, const Bucket& bucket,
                      Served& served) {
    std::erase_if(late_, [](const auto& late) { return late->is_complete(); });
    std::erase_if(late_sends_, [](Task<>& late) {
      if (!late.is_done()) return false;
      late.result();  // throws where it failed
      return true;
    });
    if (served.arrivals != nullptr && !served.arrivals->is_complete()) {
      late_.push_back(std::move(served.arrivals));
    }
    // Those of the step before are let go only now: what completed them was one
    // of their own tasks.
    served.arrivals = std::make_unique<Arrivals>(
        push, workers_,
        in_part_ ? bucket.bytes() : most_message_bytes(bucket) + kShareBytes,
        quorum_, in_part_ ? Completeness::kInPart : Completeness::kWhole);
  }

  Task<> wait_for_late() {
    for (Task<>& late : late_sends_) co_await late;
    late_sends_.clear();
    for (const auto& late : late_) co_await late->rest();
    for (const Served& served : served_) {
      if (served.arrivals != nullptr) co_await served.arrivals->rest();
    }
  }

  // Waits for enough of them, and leaves the sum of all gradients in the
  // bucket, or what the rule puts in its place.
  Task<> collect(Bucket& bucket, SyncStep step, Arrivals& arrivals) {
    try {
      co_await arrivals.enough();
      arrivals.close();
      if (rule_.is_sum()) {
        add(bucket, step, arrivals);
      } else {
        co_await rule_.combine(bucket, step, decoded(bucket, step, arrivals));
      }
    } catch (...) {
      rule_.fail(std::current_exception());
      throw;
    }
  }

  // Where some are not there, the others stand for them by their share of the
  // batch.
  void add(const Bucket& bucket, const SyncStep& step,
           const Arrivals& arrivals) const {
    double share = 0;
    std::ranges::fill(bucket.gradient(), 0.0f);
    for (const Arrivals::Message& push : arrivals.messages()) {
      if (!push.is_there) continue;
      share += add_with_share(push_, bucket, push.bytes, step, push.from,
                              bucket.gradient());
    }
    if (arrivals.is_complete() || !(share > 0)) return;
    for (float& value : bucket.gradient()) {
      value = static_cast<float>(value / share);
    }
  }

  std::vector<Received> decoded(const Bucket& bucket, const SyncStep& step,
                                const Arrivals& arrivals) const {
    std::vector<Received> received;
    for (const Arrivals::Message& push : arrivals.messages()) {
      if (!push.is_there) continue;
      Received& each = received.emplace_back(
          push.from, 0.0, std::vector<float>(bucket.gradient().size()));
      if (in_part_) {
        // The share would have to arrive, too, and so all count alike.
        each.share = 1.0 / roles_.workers();
        std::memcpy(each.values.data(), push.bytes.data(), push.bytes.size());
        continue;
      }
      each.share = add_with_share(push_, bucket, push.bytes, step, push.from,
                                  each.values);
    }
    return received;
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
    pull_.encode(bucket, served.difference, step, communicator_.rank(),
                 served.message);
  }

  Communicator& communicator_;
  AsyncEngine& network_;
  SyncPrice price_;
  Roles roles_;
  Quorum quorum_;
  bool in_part_;  // gradients may arrive so
  std::vector<int> workers_;
  RuleRun rule_;
  std::span<Bucket> buckets_;
  std::vector<NamedTensor> trainable_;
  Compressor push_;
  Compressor pull_;
  CreditQueue queue_;
  std::vector<Served> served_;
  // Steps that went on without some have left them.
  std::vector<std::unique_ptr<Arrivals>> late_;
  std::vector<Task<>> late_sends_;
  std::string text_;
};

// Why these options make no sense together.
std::optional<Refusal> quorum_declines(const Options& options) {
  const Quorum quorum = quorum_of(options);
  if (quorum.least > 0 || quorum.deadline == 0) return std::nullopt;
  return Refusal{
      "a deadline without a quorum",
      "all workers are waited for, however long that takes",
      fmt::format("server(quorum=3, deadline={:g})", quorum.deadline)};
}

std::optional<Refusal> quorum_declines_workers(const Options& options,
                                               int workers) {
  const Quorum quorum = quorum_of(options);
  if (quorum.least <= workers) return std::nullopt;
  return Refusal{
      fmt::format("{} worker{}", workers, workers == 1 ? "" : "s"),
      fmt::format("a quorum of {} would never come", quorum.least),
      fmt::format("quorum = {}, or leave it out to wait for all", workers)};
}

// What is lost must be borne by a rule, and be of some values alone.
std::optional<Refusal> parts_decline(const Options& options,
                                     const SyncRecipe& recipe) {
  if (!option<bool>(options, "in_part")) return std::nullopt;
  if (recipe.codec != "none" || recipe.sparsify != "none") {
    return Refusal{"in_part with a codec",
                   "a message of which a part is missing could not be decoded",
                   "codec = \"none\" and sparsify = \"none\""};
  }
  if (!is_mean(recipe)) return std::nullopt;
  return Refusal{"in_part with rule 'mean'",
                 "a mean with values that are missing would be no number",
                 "rule = \"average_nan\" or another that bears them"};
}

// A pull that corrects the ones before it must converge.
std::optional<Refusal> server_declines(const Options& options,
                                       const SyncRecipe& recipe) {
  if (auto refusal = quorum_declines(options)) return refusal;
  if (auto refusal = parts_decline(options, recipe)) return refusal;
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
       .options = {{.name = "quorum",
                    .value = std::int64_t{0},
                    .summary = "that suffice once the deadline has passed; "
                               "later gradients are lost; 0: all",
                    .range = {.least = 0, .most = 1 << 20},
                    .unit = "workers"},
                   {.name = "deadline",
                    .value = 0.0,
                    .summary = "after the first gradients came",
                    .range = kNotNegative,
                    .unit = "seconds"},
                   {.name = "in_part",
                    .value = false,
                    .summary = "gradients may lose parts on their way, where "
                               "the network loses any"}},
       .updates_whole_model = false,
       .takes_rules = true,
       .fewest_contributions =
           [](const Options& options, int workers) {
             const int least = quorum_of(options).least;
             return least > 0 ? least : workers;
           },
       .has_servers = true,
       .takes_credit = true,
       .applies_each = true,
       .declines = server_declines,
       .declines_workers = quorum_declines_workers,
       // An owner sees the gradients of its own buckets only.
       .clips_first = [](const Options&, const SyncRecipe&) { return true; },
       .seconds = server_seconds,
       .make = [](const Options& options,
                  const SyncContext& context) -> std::unique_ptr<SyncPolicy> {
         return std::make_unique<ServerPolicy>(options, context);
       }});
}

}  // namespace weft
