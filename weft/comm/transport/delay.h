// Lets a task wait for a moment: on a simulated network one of the virtual
// clock, else one of this machine's.
//
//   co_await Delay(channel.transport(), 0.2);
//
// Unlike a Pause it is no computing: a rank may have many at once, and they
// take no turns. One that is destroyed does not ring.
//
// Threads: those of the transport.
#pragma once

#include <coroutine>
#include <memory>

#include "weft/comm/transport/transport.h"

namespace weft {

class Delay {
 public:
  Delay(Transport& transport, double seconds)
      : transport_(transport), seconds_(seconds) {}
  ~Delay() {
    // It may be on its way still, and would resume a frame that is gone.
    if (alarm_ != nullptr) alarm_->waiting = {};
  }
  Delay(const Delay&) = delete;
  Delay& operator=(const Delay&) = delete;

  bool await_ready() const noexcept { return seconds_ <= 0; }
  void await_suspend(std::coroutine_handle<> waiting) {
    alarm_ = std::make_shared<Alarm>(Alarm{waiting});
    transport_.set_alarm(seconds_, alarm_);
  }
  void await_resume() const noexcept {}

 private:
  Transport& transport_;
  double seconds_;
  std::shared_ptr<Alarm> alarm_;
};

}  // namespace weft
