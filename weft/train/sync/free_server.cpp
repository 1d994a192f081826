#include "weft/train/sync/free_server.h"

#include <algorithm>
#include <cstring>

#include "weft/train/sync/rank_memory.h"
#include "weft/train/sync/whole_update.h"

namespace weft {
namespace {

Error bad_push(const Bucket& bucket, int worker, const char* what) {
  return Error(ErrorCode::kDataLoss, bucket.text(), "rank {} pushed {}", worker,
               what);
}

}  // namespace

FreeServer::FreeServer(std::optional<std::int64_t> slack,
                       const SyncContext& context)
    : communicator_(context.communicator),
      network_(context.network),
      price_(context.price),
      roles_(context.roles),
      slack_(slack),
      buckets_(context.buckets),
      trainable_(context.trainable.begin(), context.trainable.end()),
      push_(context.recipe, context.seed, context.buckets,
            Compressor::Memory::kKept),
      gives_means_(context.optimizer.measures_sizes()),
      queue_(context.communicator.transport(), context.recipe.credit),
      codec_(pipeline_text(context.recipe)) {
  for (const Bucket& bucket : buckets_) {
    shards_.push_back(make_shard(bucket, context));
  }
}

std::unique_ptr<FreeServer::Shard> FreeServer::make_shard(
    const Bucket& bucket, const SyncContext& context) {
  auto shard = std::make_unique<Shard>(context.communicator.transport());
  const std::size_t size = bucket.gradient().size();
  shard->pulled.resize(size);
  // All ranks know the slots by name and type; the owner's are in use.
  std::vector<NamedTensor> parameters;
  // A push is decoded into memory of its own: the bucket is the worker's, who
  // computes the next step meanwhile.
  const Tensor pushed = Tensor::zeros({DType::kF32, {static_cast<Dim>(size)}});
  for (const BucketMember& member : bucket.members()) {
    shard->parameters.push_back(trainable_[member.parameter].tensor.clone());
    parameters.push_back({member.name, shard->parameters.back()});
    const auto begin = static_cast<std::int64_t>(member.offset);
    shard->gradients.push_back(
        pushed.slice(begin, begin + static_cast<std::int64_t>(member.size))
            .reshape(member.shape));
  }
  shard->pushed = pushed;
  StepDescription update(context.optimizer, parameters, context.clip_norm);
  update.set_gradients(shard->gradients);
  shard->slots = update.tensors(EntryRole::kSlot);
  shard->slots.push_back(
      {"sync.updates." + bucket.members()[0].name, shard->updates});
  if (is_owner(bucket)) {
    shard->update = std::make_unique<Step>(update, StepCut::kUpdate);
  }
  return shard;
}

void FreeServer::begin_round(Bucket& bucket, Shard& shard) {
  shard.push = communicator_.open({"push", bucket.text(), bucket.priority()});
  shard.pull = communicator_.open({"pull", bucket.text(), bucket.priority()});
  if (!is_owner(bucket)) return;
  const auto workers = static_cast<std::size_t>(roles_.workers());
  shard.pushes.assign(workers, 0);
  shard.has_finished.assign(workers, false);
  shard.seen.assign(workers, *shard.updates.data<std::int64_t>());
  for (int worker = 0; worker < roles_.workers(); ++worker) {
    if (worker == communicator_.rank()) continue;
    // They enter no operations, so that their order is nobody's concern.
    shard.serving.push_back(network_.submit([this, &bucket, &shard, worker] {
      return serve(bucket, shard, worker);
    }));
  }
}

void FreeServer::encode(const Bucket& bucket, const SyncStep& step,
                        Shard& shard) {
  Bytes gradients;
  push_.encode(bucket, bucket.gradient(), step, communicator_.rank(),
               gradients);
  const Header header{.step = step.number,
                      .epoch = step.epoch,
                      .lr = step.lr,
                      .share = step.share,
                      .examples = step.examples,
                      .is_last = step.must_meet ? 1 : 0};
  shard.message.resize(sizeof(Header) + gradients.size());
  std::memcpy(shard.message.data(), &header, sizeof(Header));
  std::ranges::copy(gradients, shard.message.begin() + sizeof(Header));
}

Task<> FreeServer::exchange(Bucket& bucket, SyncStep step) {
  Shard& shard = *shards_[bucket.number()];
  // All ranks begin a round in the same step, before they wait for anything in
  // it.
  if (!shard.push) begin_round(bucket, shard);
  const Channel push = *shard.push;
  const Channel pull = *shard.pull;
  if (is_worker()) {
    encode(bucket, step, shard);
    co_await push.pause(price_.encode * static_cast<double>(bucket.bytes()));
  }
  if (is_owner(bucket) && is_worker()) {
    co_await take(bucket, shard, push.rank(), shard.message);
    collect(bucket, shard, push.rank(), shard.pulled);
  } else if (is_owner(bucket)) {
    if (step.must_meet) co_await wait_for_round(shard);
  } else if (is_worker()) {
    const int owner = owner_of(bucket);
    co_await queue_.pass(bucket.priority(), shard.message.size(),
                         send_message(push, owner, shard.message));
    Transfer received =
        pull.receive(owner, std::as_writable_bytes(std::span(shard.pulled)));
    const std::size_t bytes = co_await received;
    if (bytes != bucket.bytes()) {
      throw Error(ErrorCode::kDataLoss, bucket.text(),
                  "rank {} sent {} bytes of parameters", owner, bytes);
    }
  }
  if (step.must_meet) {
    shard.push.reset();
    shard.pull.reset();
  }
}

Task<> FreeServer::wait_for_round(Shard& shard) {
  while (std::ranges::count(shard.has_finished, false) > 0) {
    if (shard.failure) std::rethrow_exception(shard.failure);
    co_await shard.changed.next();
  }
}

Task<> FreeServer::serve(Bucket& bucket, Shard& shard, int worker) {
  const Channel push = *shard.push;
  const Channel pull = *shard.pull;
  const auto number = static_cast<std::size_t>(worker);
  std::exception_ptr failure;
  try {
    std::vector<float> parameters(bucket.gradient().size());
    while (!shard.has_finished[number]) {
      Bytes message(sizeof(Header) + push_.most_message_bytes(bucket));
      Transfer received = push.receive(worker, message);
      message.resize(co_await received);
      co_await take(bucket, shard, worker, std::move(message));
      collect(bucket, shard, worker, parameters);
      const auto pulled = std::as_bytes(std::span(parameters));
      co_await queue_.pass(bucket.priority(), pulled.size(),
                           send_message(pull, worker, pulled));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  // Those that wait for this worker must hear of a bad push, too.
  shard.failure = failure;
  shard.changed.notify_all();
  std::rethrow_exception(failure);
}

Task<> FreeServer::take(Bucket& bucket, Shard& shard, int worker,
                        Bytes message) {
  const auto number = static_cast<std::size_t>(worker);
  Header header;
  if (message.size() < sizeof(Header)) {
    throw bad_push(bucket, worker, "less than a header");
  }
  std::memcpy(&header, message.data(), sizeof(Header));
  const bool has_share =
      header.examples == 0 || (header.share > 0 && header.share <= 1);
  if (header.step < 0 || header.epoch < 0 || header.examples < 0 ||
      !has_share) {
    throw bad_push(bucket, worker, "a header that makes no sense");
  }
  if (header.examples > 0) {
    const auto values = shard.pushed.span<float>();
    std::ranges::fill(values, 0.0f);
    const SyncStep step{.number = header.step,
                        .epoch = header.epoch,
                        .lr = header.lr,
                        .examples = header.examples};
    push_.add_decoded(
        bucket, std::span<const std::byte>(message).subspan(sizeof(Header)),
        step, worker, values);
    if (gives_means_) {
      for (float& value : values) value /= static_cast<float>(header.share);
    }
    std::int64_t& updates = *shard.updates.data<std::int64_t>();
    const std::int64_t late = updates - shard.seen[number];
    // A checkpoint of another policy does not say how many there were: at least
    // one for each step.
    updates = std::max(updates, header.step);
    shard.update->run({}, {.lr = header.lr, .number = updates++, .late = late});
    const Channel push = *shard.push;
    co_await push.pause((price_.decode + price_.update) *
                        static_cast<double>(bucket.bytes()));
  }
  ++shard.pushes[number];
  if (header.is_last != 0) shard.has_finished[number] = true;
  shard.changed.notify_all();
  while (!may_go_on(shard, worker)) {
    if (shard.failure) std::rethrow_exception(shard.failure);
    co_await shard.changed.next();
  }
}

bool FreeServer::may_go_on(const Shard& shard, int worker) const {
  // All get the same parameters at the end of a round.
  if (shard.has_finished[static_cast<std::size_t>(worker)]) {
    return std::ranges::count(shard.has_finished, false) == 0;
  }
  if (!slack_) return true;
  const std::int64_t own = shard.pushes[static_cast<std::size_t>(worker)];
  return own - *std::ranges::min_element(shard.pushes) <= *slack_;
}

void FreeServer::collect(const Bucket& bucket, Shard& shard, int worker,
                         std::span<float> into) const {
  shard.seen[static_cast<std::size_t>(worker)] =
      *shard.updates.data<std::int64_t>();
  for (std::size_t i = 0; i < bucket.members().size(); ++i) {
    std::ranges::copy(shard.parameters[i].span<float>(),
                      part_of(into, bucket.members()[i]).begin());
  }
}

void FreeServer::apply(Bucket& bucket, const SyncStep&) {
  // A rank that only serves keeps no copy but the truth.
  if (!is_worker()) return;
  const Shard& shard = *shards_[bucket.number()];
  for (const BucketMember& member : bucket.members()) {
    std::ranges::copy(
        part_of(std::span(shard.pulled), member),
        trainable_[member.parameter].tensor.span<float>().begin());
  }
}

void FreeServer::end_step(const SyncStep& step) {
  if (!step.must_meet) return;
  for (const auto& shard : shards_) {
    for (const auto& operation : std::exchange(shard->serving, {})) {
      network_.wait(operation);
    }
  }
}

std::vector<OwnedTensor> FreeServer::state() const {
  std::vector<OwnedTensor> result = rank_memory(push_.memory(), communicator_);
  for (const Bucket& bucket : buckets_) {
    for (const NamedTensor& slot : shards_[bucket.number()]->slots) {
      result.push_back({slot.name, slot.tensor.type(), owner_of(bucket),
                        is_owner(bucket) ? slot.tensor : Tensor()});
    }
  }
  return result;
}

std::string FreeServer::restore(
    const std::function<Tensor(const std::string&)>& read, int ranks) {
  for (const Bucket& bucket : buckets_) {
    Shard& shard = *shards_[bucket.number()];
    for (std::size_t i = 0; i < bucket.members().size(); ++i) {
      // When something was saved, all copies were the truth.
      shard.parameters[i].copy_from(
          trainable_[bucket.members()[i].parameter].tensor);
    }
    if (!is_owner(bucket)) continue;
    // The count of updates is behind the optimizer's slots, and no other policy
    // has one.
    restore_slots(std::span(shard.slots).first(shard.slots.size() - 1), read);
    const Tensor updates = read(shard.slots.back().name);
    if (updates.is_defined()) shard.updates.copy_from(updates);
  }
  return restore_rank_memory(push_.memory(), communicator_, read, ranks);
}

std::string FreeServer::text() const {
  const std::string ahead = slack_
                                ? fmt::format("workers at most {} step{} ahead",
                                              *slack_, *slack_ == 1 ? "" : "s")
                                : "workers as far ahead as they come";
  return fmt::format("server for each of {} buckets{}, {}, push of {}",
                     buckets_.size(), roles_.text(), ahead, codec_);
}

}  // namespace weft
