// The network as one rank sees it: bytes to and from other ranks, a clock,
// and short notices about trouble.
//
// Collectives, servers and everything above are written once, as tasks
// (task.h) over this interface, and run on
//
//   thread  ranks are threads of one process
//   mpi     ranks are processes started by mpirun or srun
//   tcp     ranks are processes that meet at an address
//   sim     ranks of a simulated network with a virtual clock
//
// Messages between two ranks with the same tag arrive in the order in which
// they were sent; nothing else is promised about order.
//
// Threads: one thread at a time, the one that polls; wake() from any.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/comm/transport/entered_operations.h"
#include "weft/comm/transport/fold.h"
#include "weft/comm/transport/part_map.h"

namespace weft {

class AsyncEngine;  // async_engine.h
class TaskSignal;   // task_signal.h
class Transport;
struct EngineOptions;  // engine.h

using Tag = std::uint32_t;

// The messages of one tag from one rank, or to it, as a key of maps.
constexpr std::uint64_t flow_of(int peer, Tag tag) {
  return static_cast<std::uint64_t>(peer) << 32 | tag;
}

// Both sides say of a message that it may arrive in part; the one that receives
// is told in `came` what has come.
struct LossyMessage {
  bool is_allowed = false;
  PartMap* came = nullptr;
};

// A message on its way. It stays where it is made (a task's frame) until it is
// over; awaiting it gives the number of bytes that came, or throws.
class Transfer {
 public:
  enum class Kind : std::uint8_t { kSend, kReceive };

  struct Route {
    int peer = 0;
    Tag tag = 0;
    int priority = 0;  // the higher goes first where a transport can choose
  };

  // Starts it. `data` may be null with `bytes` above 0 where the transport
  // does not carry payload. A message longer than the room of its receiver
  // is an Error(kDataLoss) there. A receive with a `fold` (see
  // Transport::can_fold) combines instead of copying. A message that may arrive
  // in part has exactly the bytes of its receive, which is over when the rest
  // is taken for lost; who sends it never learns what became of it.
  Transfer(Transport& transport, Kind kind, const Route& route, std::byte* data,
           std::size_t bytes, std::shared_ptr<const EnteredOperation> operation,
           Fold fold = nullptr, const LossyMessage& lossy = {});
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  bool await_ready() const noexcept { return is_over_; }
  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    waiting_ = waiting;
  }
  std::size_t await_resume();

  Kind kind() const { return kind_; }
  const Route& route() const { return route_; }
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Fold fold() const { return fold_; }
  // Whether parts of it may be lost; and on the side that receives, what came.
  bool is_lossy() const { return lossy_.is_allowed; }
  PartMap* came() const { return lossy_.came; }
  const EnteredOperation& operation() const { return *operation_; }

  // The transport's own, to find what belongs to this transfer.
  std::uintptr_t cookie = 0;

 private:
  friend class Transport;

  Transport& transport_;
  std::shared_ptr<const EnteredOperation> operation_;
  std::byte* data_;
  std::size_t bytes_;  // wanted; what came, once over
  Fold fold_;
  LossyMessage lossy_;
  Route route_;
  Kind kind_;
  double begin_;  // by the clock of profiles; below 0: nobody asks
  bool is_over_ = false;
  // An error is larger than all else here, and there is hardly ever one.
  std::unique_ptr<const Error> failure_;
  std::coroutine_handle<> waiting_;
  Transfer* previous_ = nullptr;  // in the list of those not over
  Transfer* next_ = nullptr;
};

// "waiting to hear rank 3 100 bytes, in all_reduce(ring) of f32[25]".
std::string describe(const Transfer& transfer);
// A message of `bytes` has come for a receive with less room.
Error too_long(const Transfer& transfer, std::size_t bytes);

// A pause of one task: computing that a simulated rank is charged for.
class Pause {
 public:
  Pause(Transport& transport, double seconds)
      : transport_(transport), seconds_(seconds) {}
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

  bool await_ready() const noexcept;
  void await_suspend(std::coroutine_handle<> waiting) noexcept;
  void await_resume() const noexcept {}

 private:
  Transport& transport_;
  double seconds_;
};

// What a task waits for with a Delay (delay.h); nobody, once that is gone.
struct Alarm {
  std::coroutine_handle<> waiting;
};

// What one rank tells another outside the order of messages.
struct Notice {
  enum class Kind : std::uint8_t {
    kFailure,  // this rank has failed; text says why
    kQuery,    // "I wait for you in this operation": one that is entered
    kAlive,    // "I was asked to end and am still here"; of transports alone
  };

  Kind kind = Kind::kFailure;
  int from = 0;
  std::string text;
};

// Longer texts are cut.
inline constexpr std::size_t kMostNoticeBytes = 2048;

class Transport {
 public:
  virtual ~Transport() = default;
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The machine that a rank is on: equal names, equal machines.
  virtual const std::string& host(int rank) const = 0;
  // Seconds since some moment: of this machine, or virtual.
  virtual double now() const = 0;
  // "thread", "mpi", "tcp", "sim".
  virtual std::string_view name() const = 0;
  // Tags are below 2^tag_bits().
  virtual int tag_bits() const { return 30; }
  // False where only sizes and times travel: buffers may be null.
  virtual bool carries_payload() const { return true; }
  // Whether messages of up to `bytes` from `peer` can be folded into their
  // place as they come, which spares a copy.
  virtual bool can_fold(int /*peer*/, std::size_t /*bytes*/) const {
    return false;
  }
  // Whether all ranks are of this process, so that an address means the same to
  // each.
  virtual bool shares_memory() const { return false; }
  // True where computing must be charged by pausing (see Pause).
  virtual bool is_simulated() const { return false; }

  // Moves messages for up to `seconds`, or until something is over, or until
  // wake(). Returns whether something is over. Then call resume_ready().
  virtual bool poll(double seconds) = 0;
  // Runs the tasks whose transfers are over, until they wait again.
  void resume_ready();
  // Ends a poll() that waits. From any thread.
  virtual void wake() = 0;

  // Best effort, never blocks, never throws.
  virtual void send_notice(int to, const Notice& notice) noexcept = 0;
  // Resumes who waits for the alarm when `seconds` have passed.
  virtual void set_alarm(double seconds, std::shared_ptr<Alarm> alarm);
  // Seconds until the next alarm is due, or `most` where that is sooner: how
  // long a poll may last.
  double until_alarm(double most) const;

  // The next notice that has come.
  std::optional<Notice> take_notice();

  // What carries operations on while its caller computes. The transport belongs
  // to it from then on.
  virtual std::unique_ptr<AsyncEngine> start_engine(
      const EngineOptions& options);

  // The bytes of all messages since the beginning.
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  std::uint64_t bytes_received() const { return bytes_received_; }

  // --- For the engine ----------------------------------------------------

  // Fails all transfers that are not over with copies of `error`, and the tasks
  // that wait for others (task_signal.h).
  void fail_all(const Error& error);
  // Whether fail_all() would fail anything.
  bool is_waited_for() const { return first_ != nullptr || !signals_.empty(); }
  // Those that are not over, oldest first.
  const Transfer* oldest() const { return first_; }
  static const Transfer* next(const Transfer& transfer) {
    return transfer.next_;
  }
  EnteredOperations& entered() { return entered_; }

 protected:
  // Starts moving it; finish() or fail() may be called at once.
  virtual void start(Transfer& transfer) = 0;
  // Forgets it: its memory is about to go.
  virtual void abandon(Transfer& transfer) noexcept = 0;
  // Calls resume_later(waiting) when `seconds` have passed. Only called where
  // is_simulated().
  virtual void start_pause(double seconds, std::coroutine_handle<> waiting);

  // Implementations call these from start() or poll(): the transfer is over.
  void finish(Transfer& transfer, std::size_t bytes);
  // The same for one of which parts may be missing: came() says which.
  void finish_in_part(Transfer& transfer);
  void fail(Transfer& transfer, Error error);
  void resume_later(std::coroutine_handle<> waiting) {
    ready_.push_back(waiting);
  }
  // What an alarm that is due is for. Whoever waits may be gone by the time
  // that it would be resumed, if others are first.
  void ring(std::shared_ptr<Alarm> alarm) { rung_.push_back(std::move(alarm)); }
  void notice_came(Notice notice) { notices_.push_back(std::move(notice)); }

 private:
  friend class Transfer;
  friend class Pause;
  friend class TaskSignal;
  void link(Transfer& transfer);
  void unlink(Transfer& transfer);
  void count(Transfer& transfer, std::size_t bytes);
  void end(Transfer& transfer);

  Transfer* first_ = nullptr;
  Transfer* last_ = nullptr;
  std::vector<TaskSignal*> signals_;  // those for which tasks wait
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_received_ = 0;
  std::deque<std::coroutine_handle<>> ready_;
  std::multimap<double, std::shared_ptr<Alarm>>
      alarms_;  // by when they are due
  std::deque<std::shared_ptr<Alarm>> rung_;
  std::deque<Notice> notices_;
  EnteredOperations entered_;
};

inline bool Pause::await_ready() const noexcept {
  return seconds_ <= 0 || !transport_.is_simulated();
}
inline void Pause::await_suspend(std::coroutine_handle<> waiting) noexcept {
  transport_.start_pause(seconds_, waiting);
}

}  // namespace weft
