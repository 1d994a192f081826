#include "weft/train/sync/step_server.h"

#include <algorithm>
#include <cstring>

#include "weft/base/index.h"
#include "weft/base/ranges.h"
#include "weft/comm/transport/resend.h"
#include "weft/train/sync/rank_memory.h"
#include "weft/train/sync/shared_message.h"
#include "weft/train/sync/whole_update.h"

namespace weft {
namespace {

void set_values(std::span<const float> values, Bytes& message) {
  const auto bytes = std::as_bytes(values);
  message.assign(bytes.begin(), bytes.end());
}

}  // namespace

StepServer::StepServer(const Quorum& quorum, bool in_part,
                       const SyncContext& context)
    : communicator_(context.communicator),
      network_(context.network),
      price_(context.price),
      roles_(context.roles),
      quorum_(quorum),
      in_part_(in_part),
      gives_receipts_(context.recipe.credit > 0 && !in_part),
      rule_(context, RuleRun::Holders::kOwner),
      buckets_(context.buckets),
      trainable_(context.trainable.begin(), context.trainable.end()),
      push_(context.recipe, context.seed, context.buckets,
            Compressor::Memory::kKept),
      // Rounding at random on the way back draws other numbers than on the
      // way there.
      pull_(context.recipe, context.seed + 1, context.buckets,
            Compressor::Memory::kNone),
      text_(pipeline_text(context.recipe)) {
  for (int rank = 0; rank < roles_.workers(); ++rank) {
    workers_.push_back(rank);
  }
  const int queues = quorum.least == 0 ? 1 : communicator_.size();
  for (int i = 0; i < queues; ++i) {
    queues_.emplace_back(context.communicator.transport(),
                         context.recipe.credit);
  }
  for (const Bucket& bucket : buckets_) {
    served_.push_back(serve(bucket, context));
  }
}

// Where some may be late, nobody is waited for to count.
bool StepServer::meets(const SyncStep& step) const {
  return quorum_.least == 0 || step.must_meet;
}

Task<> StepServer::exchange(Bucket& bucket, SyncStep step) {
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
    if (is_worker()) co_await push_and_pull(push, pull, bucket, served);
    co_return;
  }
  co_await collect(bucket, step, *served.arrivals);
  update(bucket, step, served);
  // It has decoded everyone's messages, made something of them, updated, and
  // encoded the change.
  co_await push.pause((roles_.workers() * price_.decode + price_.rule +
                       price_.update + price_.encode) *
                      bytes_of_bucket);
  co_await send_change(pull, bucket, served);
}

Task<> StepServer::push_and_pull(Channel push, Channel pull,
                                 const Bucket& bucket, Served& served) {
  const int owner = roles_.owner_of(bucket.number());
  co_await queue_to(owner).pass(bucket.priority(), served.message.size(),
                                send_push(push, owner, served.message));
  if (in_part_) {
    served.message.resize(bucket.bytes());
    co_await receive_until_whole(pull, owner, served.message);
    co_return;
  }
  served.room.resize(pull_.most_message_bytes(bucket));
  Transfer received = pull.receive(owner, served.room);
  const std::size_t bytes = co_await received;
  served.message.assign(
      served.room.begin(),
      served.room.begin() + static_cast<std::ptrdiff_t>(bytes));
}

CreditQueue& StepServer::queue_to(int rank) {
  return queues_.size() == 1 ? queues_.front() : queues_[at(rank)];
}

Task<> StepServer::send_push(Channel push, int owner,
                             std::span<const std::byte> message) const {
  if (in_part_) return send_lossy_message(std::move(push), owner, message);
  return gives_receipts_ ? send_for_receipt(std::move(push), owner, message)
                         : send_message(std::move(push), owner, message);
}

// Where gradients may arrive in part, the way loses what TCP is slow to repeat.
Task<> StepServer::send_whole(Channel pull, int worker,
                              std::span<const std::byte> message) const {
  return in_part_ ? send_until_whole(std::move(pull), worker, message)
                  : send_message(std::move(pull), worker, message);
}

Task<> StepServer::send_change(Channel pull, const Bucket& bucket,
                               const Served& served) {
  std::vector<Task<>> sent;
  for (const Arrivals::Message& of : served.arrivals->messages()) {
    if (of.from == pull.rank()) continue;
    if (quorum_.least == 0) {
      sent.push_back(
          queue_to(of.from).pass(bucket.priority(), served.message.size(),
                                 send_whole(pull, of.from, served.message)));
    } else {
      // Who is late listens late, and who was not may stall before it listens:
      // neither is waited for.
      late_sends_.push_back(send_late(pull, of.from, served.message));
      late_sends_.back().start();
    }
  }
  co_await all_of(std::move(sent));
}

// The pulled change, once backward reads the parameters no more.
void StepServer::apply(Bucket& bucket, const SyncStep& step) {
  const int owner = roles_.owner_of(bucket.number());
  if (!is_worker() && communicator_.rank() != owner) return;
  Served& served = served_[bucket.number()];
  std::ranges::fill(bucket.gradient(), 0.0f);
  if (in_part_) {
    std::memcpy(bucket.gradient().data(), served.message.data(),
                served.message.size());
  } else {
    pull_.add_decoded(bucket, served.message, step, owner, bucket.gradient());
  }
  for (const BucketMember& member : bucket.members()) {
    const auto change = part_of(bucket.gradient(), member);
    const auto values = trainable_[member.parameter].tensor.span<float>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += change[i];
  }
  network_.charge(price_.decode * static_cast<double>(bucket.bytes()));
}

// Nothing of a step is under way when workers have met after it.
void StepServer::end_step(const SyncStep& step) {
  if (!step.must_meet || quorum_.least == 0) return;
  network_.wait(network_.submit([this] { return wait_for_late(); }));
}

std::vector<OwnedTensor> StepServer::state() const {
  std::vector<OwnedTensor> result = rank_memory(push_.memory(), communicator_);
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

std::string StepServer::restore(
    const std::function<Tensor(const std::string&)>& read, int ranks) {
  std::string note =
      restore_rank_memory(push_.memory(), communicator_, read, ranks);
  note += (note.empty() ? "" : "\n") + rule_.restore(read);
  for (const Bucket& bucket : buckets_) {
    if (!is_owner(bucket)) continue;
    Served& served = served_[bucket.number()];
    const auto& members = bucket.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
      // A checkpoint of another policy has no true parameters of its own.
      const Tensor saved = read(served.state[i].name);
      served.parameters[i].copy_from(
          saved.is_defined() ? saved : trainable_[members[i].parameter].tensor);
    }
    // The slots are behind the parameters.
    restore_slots(std::span(served.state).subspan(members.size()), read);
  }
  return note;
}

std::string StepServer::text() const {
  std::string text =
      fmt::format("server for each of {} buckets{}, push and pull of {}",
                  buckets_.size(), roles_.text(), text_);
  if (quorum_.least > 0) {
    text += fmt::format(", {} of {} workers suffice after {:g} s",
                        quorum_.least, roles_.workers(), quorum_.deadline);
  }
  return text;
}

StepServer::Served StepServer::serve(const Bucket& bucket,
                                     const SyncContext& context) {
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

void StepServer::encode_push(const Bucket& bucket, const SyncStep& step,
                             Served& served) {
  if (in_part_) {
    // Each value is to be read by itself, and so travels as it is.
    set_values(bucket.gradient(), served.message);
    return;
  }
  push_.encode(bucket, bucket.gradient(), step, communicator_.rank(),
               served.message);
  append_share(step.share, served.message);
}

// It waits for no credit: pushes of the next step may have all of that, until
// this worker gets there, which it does not without what is sent here.
Task<> StepServer::send_late(Channel pull, int worker, Bytes message) const {
  co_await send_whole(std::move(pull), worker, message);
}

void StepServer::begin_arrivals(const Channel& push, const Bucket& bucket,
                                Served& served) {
  std::erase_if(late_, [](const auto& late) { return late->is_over(); });
  std::erase_if(late_sends_, [](Task<>& late) {
    if (!late.is_done()) return false;
    late.result();  // throws where it failed
    return true;
  });
  // A receipt that is still to leave is waited for by whoever wants it.
  if (served.arrivals != nullptr && !served.arrivals->is_over()) {
    late_.push_back(std::move(served.arrivals));
  }
  // Those of the step before are let go only now: what completed them was one
  // of their own tasks.
  served.arrivals = std::make_unique<Arrivals>(
      push, workers_,
      in_part_ ? bucket.bytes()
               : push_.most_message_bytes(bucket) + kShareBytes,
      quorum_, in_part_ ? Completeness::kInPart : Completeness::kWhole,
      gives_receipts_ ? Receipts::kGiven : Receipts::kNone);
}

Task<> StepServer::wait_for_late() {
  for (Task<>& late : late_sends_) co_await late;
  late_sends_.clear();
  for (const auto& late : late_) co_await late->rest();
  for (const Served& served : served_) {
    if (served.arrivals != nullptr) co_await served.arrivals->rest();
  }
}

// Waits for enough of them, and leaves the sum of all gradients in the
// bucket, or what the rule puts in its place.
Task<> StepServer::collect(Bucket& bucket, SyncStep step, Arrivals& arrivals) {
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
void StepServer::add(const Bucket& bucket, const SyncStep& step,
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

std::vector<Received> StepServer::decoded(const Bucket& bucket,
                                          const SyncStep& step,
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
    each.share =
        add_with_share(push_, bucket, push.bytes, step, push.from, each.values);
  }
  return received;
}

// The true parameters change; the message is how they differ then.
void StepServer::update(const Bucket& bucket, const SyncStep& step,
                        Served& served) {
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
  if (in_part_) {
    set_values(served.difference, served.message);
    return;
  }
  pull_.encode(bucket, served.difference, step, communicator_.rank(),
               served.message);
}

}  // namespace weft
