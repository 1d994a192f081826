// The part of a worker that sends to other ranks and hears from them.
#include "weft/base/index.h"
#include "weft/runtime/tagged/worker.h"

namespace weft {
namespace {

// How long one look at the network may last: requests to stop are heard in
// between.
constexpr double kPollSeconds = 0.05;

}  // namespace

void TaggedWorker::run_send(Frame* frame, const Work& work) {
  const Input& input = work.inputs[0];
  Tensor value;
  if (input.is_inline) {
    value = Tensor::empty(input.type);
    std::memcpy(value.raw(), frame->at(input.slot), value.bytes());
  } else {
    value = frame->tensor(input.slot).take(input.type);
  }
  session_.peers->send({frame->tag, work.index, std::move(value)});
}

// Passes the value on if it has come; else the activation waits for it.
std::int32_t TaggedWorker::run_receive(Item item) {
  const Work& work = item.frame->layout->works[item.work];
  auto value = mailbox_.expect(item.frame->tag, work.index, item);
  // The one that is returned stands for this unit, which goes on waiting: so
  // its activation cannot end.
  return value ? send_received(item.frame, work, std::move(*value)) : 1;
}

std::int32_t TaggedWorker::send_received(Frame* frame, const Work& work,
                                         Tensor value) {
  const Port& port = work.outputs[0];
  if (!port.is_inline) return send(frame, port, std::move(value));
  std::uint64_t word = 0;
  std::memcpy(&word, value.raw(), value.bytes());
  return send(frame, port, word);
}

// Moves messages, and takes from what has come the arguments. Other values stay
// in the list, for hear(): a region that waits here must not make others ready.
void TaggedWorker::listen(double seconds) {
  session_.peers->poll(seconds, parcels_);
  if (parcels_.empty()) return;
  const std::lock_guard lock(coming_);
  std::erase_if(parcels_, [&](Parcel& parcel) {
    const int argument = session_.graph.crossings[at(parcel.crossing)].argument;
    if (argument < 0) return false;
    Tensor& place = arguments_[at(argument)];
    WEFT_CHECK(are_missing_[at(argument)], "a value came twice");
    WEFT_CHECK(!place.is_defined() || place.raw() == parcel.value.raw(),
               "an argument is written where its readers look for it");
    place = std::move(parcel.value);
    are_missing_[at(argument)] = false;
    return true;
  });
  has_come_.notify_all();
}

void TaggedWorker::await_argument(std::size_t argument) {
  try {
    while (are_missing_[argument]) {
      check_stop();
      listen(kPollSeconds);
    }
  } catch (Error& error) {
    error.detail(fmt::format("waiting for argument {}", argument));
    throw;
  }
}

// True if something that was waited for has come.
bool TaggedWorker::hear(double seconds) {
  listen(seconds);
  bool is_awaited = false;
  for (Parcel& parcel : parcels_) {
    const auto item = mailbox_.deliver(parcel);
    // The activation that waits for it has not begun here, or not come so far.
    // The mailbox keeps it.
    if (!item) continue;
    is_awaited = true;
    const Work& work = item->frame->layout->works[item->work];
    finish(item->frame,
           send_received(item->frame, work, std::move(parcel.value)) - 1);
  }
  parcels_.clear();
  return is_awaited;
}

void TaggedWorker::wait_for_peers() {
  // Every value from elsewhere has a Receive that waits for it. If there is
  // none and nothing is ready, no message can help.
  if (!mailbox_.is_waiting()) {
    throw Error(ErrorCode::kInternal, "tagged",
                "the run waits for a value that nothing computes");
  }
  try {
    hear(kPollSeconds);
  } catch (Error& error) {
    // The one that began last is deepest in the recursion, and what waits above
    // it waits for that.
    const Mailbox::Waiting newest = mailbox_.newest();
    const Crossing& crossing = session_.graph.crossings[at(newest.crossing)];
    error.detail(fmt::format("waiting for {} of rank {}", crossing.value,
                             crossing.from));
    add_chain(error, newest.item.frame);
    throw;
  }
}

void TaggedWorker::exchange_arguments(std::span<Tensor> arguments) {
  arguments_ = arguments;
  are_missing_.assign(arguments.size(), false);
  std::vector<std::size_t> needed;
  const auto& crossings = session_.graph.crossings;
  for (std::size_t i = 0; i < crossings.size(); ++i) {
    if (crossings[i].argument < 0) continue;
    const std::size_t argument = at(crossings[i].argument);
    if (crossings[i].from == session_.peers->rank()) {
      session_.peers->send({{}, static_cast<int>(i), arguments[argument]});
    }
    if (crossings[i].to != session_.peers->rank()) continue;
    are_missing_[argument] = true;
    if (!arguments[argument].is_defined()) needed.push_back(argument);
  }
  for (const std::size_t argument : needed) await_argument(argument);
}

}  // namespace weft
