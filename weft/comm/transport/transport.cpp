#include "weft/comm/transport/transport.h"

#include <algorithm>

#include "weft/base/profile.h"
#include "weft/comm/transport/task_signal.h"
#include "weft/comm/transport/threaded_engine.h"

namespace weft {

Transfer::Transfer(Transport& transport, Kind kind, const Route& route,
                   std::byte* data, std::size_t bytes,
                   std::shared_ptr<const EnteredOperation> operation, Fold fold,
                   const LossyMessage& lossy)
    : transport_(transport),
      operation_(std::move(operation)),
      data_(data),
      bytes_(bytes),
      fold_(fold),
      lossy_(lossy),
      route_(route),
      kind_(kind),
      begin_(profile::is_on() ? profile::now() : -1) {
  WEFT_CHECK(route.peer >= 0 && route.peer < transport.size());
  // Only a simulated network moves sizes without bytes.
  WEFT_CHECK(data != nullptr || bytes == 0 || !transport.carries_payload());
  WEFT_CHECK(fold == nullptr ||
             (kind == Kind::kReceive && transport.can_fold(route.peer, bytes)));
  if (lossy_.came != nullptr) lossy_.came->reset(bytes);
  // It is linked first: start() may find it over at once, and unlinks it then.
  transport_.link(*this);
  transport_.start(*this);
}

// A task that is given up takes its transfers with it, and nothing may come
// into their memory after that.
Transfer::~Transfer() {
  if (is_over_) return;
  transport_.abandon(*this);
  transport_.unlink(*this);
}

Error too_long(const Transfer& transfer, std::size_t bytes) {
  return Error(ErrorCode::kDataLoss, transfer.operation().text,
               "a message of {} bytes from rank {} is longer than the {} bytes "
               "expected",
               bytes, transfer.route().peer, transfer.bytes());
}

std::string describe(const Transfer& transfer) {
  return fmt::format(
      "waiting to {} {} {} bytes, in {}",
      transfer.kind() == Transfer::Kind::kSend ? "send rank" : "hear rank",
      transfer.route().peer, transfer.bytes(), transfer.operation().text);
}

std::size_t Transfer::await_resume() {
  if (failure_) throw *failure_;
  return bytes_;
}

void Transport::resume_ready() {
  while (!alarms_.empty() && alarms_.begin()->first <= now()) {
    ring(std::move(alarms_.begin()->second));
    alarms_.erase(alarms_.begin());
  }
  // What is resumed may make others ready, which join the end of the line: a
  // loop, so that chains of them do not nest on the stack.
  while (!ready_.empty() || !rung_.empty()) {
    if (ready_.empty()) {
      const auto alarm = std::move(rung_.front());
      rung_.pop_front();
      if (alarm->waiting) std::exchange(alarm->waiting, {}).resume();
      continue;
    }
    const auto task = ready_.front();
    ready_.pop_front();
    task.resume();
  }
}

void Transport::set_alarm(double seconds, std::shared_ptr<Alarm> alarm) {
  alarms_.emplace(now() + seconds, std::move(alarm));
}

double Transport::until_alarm(double most) const {
  if (alarms_.empty()) return most;
  return std::clamp(alarms_.begin()->first - now(), 0.0, most);
}

std::unique_ptr<AsyncEngine> Transport::start_engine(
    const EngineOptions& options) {
  return std::make_unique<ThreadedEngine>(*this, options);
}

std::optional<Notice> Transport::take_notice() {
  if (notices_.empty()) return std::nullopt;
  Notice notice = std::move(notices_.front());
  notices_.pop_front();
  return notice;
}

void Transport::fail_all(const Error& error) {
  // Each one that fails leaves the list.
  while (first_ != nullptr) {
    Transfer& transfer = *first_;
    // The implementation lets go of it first, so that nothing that still
    // arrives is taken for it.
    abandon(transfer);
    fail(transfer, error);
  }
  while (!signals_.empty()) signals_.back()->fail(error);
}

// Time that real work has taken is over by now; only a virtual clock has to be
// told of it.
void Transport::start_pause(double, std::coroutine_handle<> waiting) {
  resume_later(waiting);
}

void Transport::finish(Transfer& transfer, std::size_t bytes) {
  // Where nothing is lost, a message is whole.
  if (transfer.came() != nullptr) transfer.came()->mark_all();
  count(transfer, bytes);
}

void Transport::finish_in_part(Transfer& transfer) {
  count(transfer, transfer.bytes());
}

void Transport::count(Transfer& transfer, std::size_t bytes) {
  transfer.bytes_ = bytes;
  (transfer.kind() == Transfer::Kind::kSend ? bytes_sent_ : bytes_received_) +=
      bytes;
  end(transfer);
}

void Transport::fail(Transfer& transfer, Error error) {
  transfer.failure_ = std::make_unique<const Error>(std::move(error));
  end(transfer);
}

void Transport::end(Transfer& transfer) {
  unlink(transfer);
  transfer.is_over_ = true;
  if (transfer.begin_ >= 0) {
    profile::record_message(
        span_kind(
            {transfer.kind() == Transfer::Kind::kSend ? "send" : "receive",
             "network", transfer.operation().text, 0,
             static_cast<double>(transfer.bytes())}),
        transfer.begin_, profile::now());
  }
  // The task is not resumed here: it may start and destroy transfers, and the
  // transport is in the middle of its own lists.
  if (transfer.waiting_) resume_later(transfer.waiting_);
}

// The list runs through the transfers themselves: it allocates nothing, any of
// them leaves in O(1), and the oldest stands first, which is what a report of
// silence names.
void Transport::link(Transfer& transfer) {
  transfer.previous_ = last_;
  (last_ == nullptr ? first_ : last_->next_) = &transfer;
  last_ = &transfer;
}

void Transport::unlink(Transfer& transfer) {
  (transfer.previous_ == nullptr ? first_ : transfer.previous_->next_) =
      transfer.next_;
  (transfer.next_ == nullptr ? last_ : transfer.next_->previous_) =
      transfer.previous_;
  transfer.previous_ = transfer.next_ = nullptr;
}

}  // namespace weft
