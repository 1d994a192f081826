#include "weft/comm/transport/mpi.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <fmt/ranges.h>
#include <thread>
#include <unistd.h>

namespace weft {
namespace {

// How a poll waits: it spins, for less where ranks share cores, then lets
// others run, then sleeps.
constexpr double kSpinSeconds = 50e-6;
constexpr double kSharedSpinSeconds = 1e-6;
constexpr double kYieldSeconds = 2e-3;
constexpr std::chrono::microseconds kSleep{100};

// While no message is under way there, MPI is looked at for notices only, and
// once in so many times: looking costs as much as a small message takes.
constexpr unsigned kPollsPerLook = 64;

// The memory for messages that come from ranks of this machine.
constexpr std::size_t kSharedBytes = std::size_t{4} << 20;
constexpr std::size_t kLeastPipe = std::size_t{4} << 10;
constexpr std::size_t kMostPipe = std::size_t{1} << 20;

// The transport's own tag; communicator.cpp gives out the others.
constexpr int kNoticeTag = 0;

volatile std::sig_atomic_t is_terminated = 0;

// A handler of signals may do no more than this; polls do the rest.
void handle_termination(int) { is_terminated = 1; }

// Whether nobody has put a handler in the place of ours.
bool is_termination_ours() {
  struct sigaction action = {};
  sigaction(SIGTERM, nullptr, &action);
  return action.sa_handler == handle_termination;
}

}  // namespace

MpiTransport::MpiTransport(const MpiFunctions& mpi) : mpi_(mpi) {
  check(mpi_.open(&info_), "starting");
  const auto ranks = static_cast<std::size_t>(info_.size);
  std::vector<char> names(ranks * kMpiHostBytes);
  check(mpi_.host_names(names.data()), "exchanging host names");
  for (std::size_t i = 0; i < ranks; ++i) {
    hosts_.emplace_back(names.data() + i * kMpiHostBytes);
  }
  is_alive_.resize(ranks);
  meet_neighbours();
  listen_for_notices();
  struct sigaction action = {};
  sigaction(SIGTERM, nullptr, &action);
  // A handler of the program has precedence.
  if (action.sa_handler == SIG_DFL) std::signal(SIGTERM, handle_termination);
}

MpiTransport::~MpiTransport() {
  // Closing MPI takes all ranks, and after a failure not all of them come.
  if (has_failed_ || is_stuck_ || std::uncaught_exceptions() > 0) return;
  const double until = now() + kAbandonSeconds;
  while (!outgoing_.empty() && now() < until) move();
  mpi_.cancel_receive(&incoming_);
  mpi_.close();
}

double MpiTransport::now() const {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// All ranks of a machine make one pipe from each of them, in their order.
void MpiTransport::meet_neighbours() {
  const auto here = [&](std::size_t i) { return hosts_[i] == host(rank()); };
  const auto own = static_cast<std::size_t>(rank());
  std::size_t count = 0;
  std::size_t before_own = 0;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (i < own && here(i)) ++before_own;
    if (here(i)) ++count;
  }
  // Who spins on a shared core keeps it from the rank that is waited for.
  const bool shares_cores =
      static_cast<long>(count) > sysconf(_SC_NPROCESSORS_ONLN);
  spin_seconds_ = shares_cores ? kSharedSpinSeconds : kSpinSeconds;
  // A rank makes room for what all others send it, so the more there are, the
  // shorter is each pipe; the positions of a ring need a power of two.
  WEFT_CHECK(count > 0);
  const std::size_t capacity =
      std::clamp(std::bit_floor(kSharedBytes / count), kLeastPipe, kMostPipe);
  const std::size_t size = PipeMemory::size_for(capacity);
  std::vector<void*> memory(hosts_.size());
  check(mpi_.share(count * size, memory.data()), "sharing memory");
  neighbours_.resize(hosts_.size());
  // Everyone counts the ranks of the machine in the same order, so both ends of
  // a pipe find it without a message.
  const auto pipe = [&](std::size_t to, std::size_t number_of_from) {
    return PipeMemory(
        static_cast<std::byte*>(memory[to]) + number_of_from * size, capacity);
  };
  std::size_t number = 0;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (!here(i)) continue;
    // Machines of the same name, as containers are, share nothing.
    if (i != own && memory[i] != nullptr) {
      neighbours_[i].emplace(PipeWriter(pipe(i, before_own)),
                             PipeReader(pipe(own, number)));
    }
    ++number;
  }
}

Neighbour* MpiTransport::neighbour(const Transfer& transfer) {
  auto& found = neighbours_[static_cast<std::size_t>(transfer.route().peer)];
  return found ? &*found : nullptr;
}

bool MpiTransport::can_fold(int peer, std::size_t bytes) const {
  const auto& near = neighbours_[static_cast<std::size_t>(peer)];
  return near && near->fits(bytes);
}

bool MpiTransport::poll(double seconds) {
  const double started = now();
  while (true) {
    if (fail_if_terminated()) return true;
    Progress progress;
    progress.is_over = move_neighbours();
    // The memory shared with neighbours is looked at every time: that costs a
    // read per neighbour of a cache line which nobody has changed.
    if (in_mpi_ > 0 || !outgoing_.empty() || ++polls_ % kPollsPerLook == 0) {
      const Progress in_mpi = move();
      progress.is_over |= in_mpi.is_over;
      progress.has_notice = in_mpi.has_notice;
    }
    if (progress.is_over) return true;
    if (progress.has_notice || is_woken_.exchange(false)) return false;
    const double waited = now() - started;
    if (waited >= seconds) return false;
    if (waited > kYieldSeconds) {
      std::this_thread::sleep_for(kSleep);
    } else if (waited > spin_seconds_) {
      std::this_thread::yield();
    }
  }
}

bool MpiTransport::move_neighbours() {
  bool is_over = false;
  for (auto& each : neighbours_) {
    if (!each) continue;
    // An announcement ends nothing: its message is still under way in MPI.
    while (const auto outcome = each->move()) {
      settle(*outcome);
      is_over |= !outcome->is_announcement;
    }
  }
  return is_over;
}

void MpiTransport::settle(const Neighbour::Outcome& outcome) {
  Transfer& transfer = *outcome.transfer;
  if (outcome.is_announcement) {
    // The packet has kept the place of the message in the order of its flow;
    // the bytes come through MPI.
    start_in_mpi(transfer);
  } else if (outcome.bytes > transfer.bytes()) {
    fail(transfer, too_long(transfer, outcome.bytes));
  } else {
    finish(transfer, outcome.bytes);
  }
}

MpiTransport::Progress MpiTransport::move() {
  Progress progress;
  // A send that was abandoned under way still has its buffer in MPI's hands, so
  // MPI is not called again.
  if (is_stuck_) return progress;
  const MpiCompletion* completions = nullptr;
  int count = 0;
  check(mpi_.poll(&completions, &count), "moving messages");
  // Ending one may start others, but only later: resume_ready() does that.
  const std::vector<MpiCompletion> over(completions, completions + count);
  for (const MpiCompletion& completion : over) {
    // What ends is the receive that stands for notices, a notice that was sent,
    // or a transfer.
    if (completion.owner == &incoming_) {
      hear_notice(completion);
      progress.has_notice = true;
    } else if (std::erase_if(outgoing_, [&](const NoticeBytes& notice) {
                 return &notice == completion.owner;
               }) == 0) {
      end(completion);
      progress.is_over = true;
    }
  }
  return progress;
}

void MpiTransport::end(const MpiCompletion& completion) {
  Transfer& transfer = *static_cast<Transfer*>(completion.owner);
  --in_mpi_;
  if (completion.is_truncated) {
    fail(transfer, Error(ErrorCode::kDataLoss, transfer.operation().text,
                         "a message from rank {} is longer than the {} bytes "
                         "expected",
                         transfer.route().peer, transfer.bytes()));
  } else if (completion.error != 0) {
    fail(transfer, Error(ErrorCode::kUnavailable, "mpi", "{}: {}",
                         describe(transfer), text_of(completion.error)));
  } else {
    // A receive may bring fewer bytes than it has room for.
    finish(transfer, transfer.kind() == Transfer::Kind::kSend
                         ? transfer.bytes()
                         : completion.bytes);
  }
}

void MpiTransport::start(Transfer& transfer) {
  if (transfer.bytes() > INT_MAX) {
    fail(transfer, Error(ErrorCode::kUnsupported, transfer.operation().text,
                         "MPI counts bytes in 31 bits; a message has {}",
                         transfer.bytes())
                       .hint("send it in several messages"));
    return;
  }
  if (is_stuck_) {
    fail(transfer, Error(ErrorCode::kUnavailable, transfer.operation().text,
                         "this rank has given up its network"));
    return;
  }
  Neighbour* const near = neighbour(transfer);
  if (near == nullptr) {
    start_in_mpi(transfer);
  } else if (transfer.kind() == Transfer::Kind::kReceive) {
    // Which way a message takes is known to its sender alone: a receive waits
    // for the packet that brings it or announces it.
    if (const auto outcome = near->receive(transfer)) settle(*outcome);
  } else if (near->fits(transfer.bytes())) {
    if (const auto outcome = near->send(transfer)) settle(*outcome);
  } else {
    // The announcement goes first, as nothing else keeps the order between the
    // pipe and MPI.
    near->announce(transfer);
    start_in_mpi(transfer);
  }
}

void MpiTransport::start_in_mpi(Transfer& transfer) {
  const auto& route = transfer.route();
  const int tag = static_cast<int>(route.tag);
  const int error = transfer.kind() == Transfer::Kind::kSend
                        ? mpi_.send(&transfer, transfer.data(),
                                    transfer.bytes(), route.peer, tag)
                        : mpi_.receive(&transfer, transfer.data(),
                                       transfer.bytes(), route.peer, tag);
  if (error != 0) {
    fail(transfer, Error(ErrorCode::kUnavailable, "mpi", "{}: {}",
                         describe(transfer), text_of(error)));
    return;
  }
  ++in_mpi_;
}

void MpiTransport::abandon(Transfer& transfer) noexcept {
  Neighbour* const near = neighbour(transfer);
  // One that no pipe has any more was handed to MPI.
  if (near != nullptr && near->forget(transfer)) return;
  if (is_stuck_) return;
  --in_mpi_;
  if (transfer.kind() == Transfer::Kind::kReceive) {
    is_stuck_ = mpi_.cancel_receive(&transfer) != 0;
    return;
  }
  int is_over = 0;
  // A send cannot be taken back, and its buffer is about to go: it has so long
  // to end.
  const double until = now() + kAbandonSeconds;
  while (is_over == 0 && !is_stuck_) {
    is_stuck_ = mpi_.test(&transfer, &is_over) != 0 || now() > until;
  }
}

void MpiTransport::send_notice(int to, const Notice& notice) noexcept {
  if (notice.kind == Notice::Kind::kFailure) has_failed_ = true;
  if (is_stuck_) return;
  // MPI reads the bytes until the send is over; elements of a list stay where
  // they are.
  NoticeBytes& bytes = outgoing_.emplace_back();
  // Whoever listens has room for so much.
  const std::size_t size = std::min(notice.text.size(), kMostNoticeBytes);
  bytes.bytes[0] = static_cast<char>(notice.kind);
  std::memcpy(bytes.bytes + 1, notice.text.data(), size);
  if (mpi_.send(&bytes, bytes.bytes, 1 + size, to, kNoticeTag) != 0) {
    outgoing_.pop_back();
  }
}

void MpiTransport::listen_for_notices() {
  check(mpi_.receive(&incoming_, incoming_.bytes, sizeof(incoming_.bytes),
                     kMpiAnySource, kNoticeTag),
        "listening for notices");
}

void MpiTransport::hear_notice(const MpiCompletion& completion) {
  if (completion.error == 0 && completion.bytes > 0) {
    Notice notice;
    notice.kind = static_cast<Notice::Kind>(incoming_.bytes[0]);
    notice.from = completion.from;
    notice.text.assign(incoming_.bytes + 1, completion.bytes - 1);
    if (notice.kind == Notice::Kind::kFailure) has_failed_ = true;
    if (notice.kind == Notice::Kind::kAlive) {
      is_alive_[static_cast<std::size_t>(notice.from)] = true;
    } else {
      notice_came(std::move(notice));
    }
  }
  // A receive from anybody is always open: nobody knows who will fail.
  listen_for_notices();
}

std::vector<int> MpiTransport::lost_ranks() const {
  std::vector<int> lost;
  for (int i = 0; i < size(); ++i) {
    if (i != rank() && !is_alive_[static_cast<std::size_t>(i)]) {
      lost.push_back(i);
    }
  }
  return lost;
}

const Transfer& MpiTransport::waiting_for(std::span<const int> lost) const {
  for (const Transfer* each = oldest(); each != nullptr; each = next(*each)) {
    // What waits for a lost rank says more than what merely waits.
    if (std::ranges::count(lost, each->route().peer) > 0) return *each;
  }
  return *oldest();
}

bool MpiTransport::fail_if_terminated() {
  if (is_terminated == 0) return false;
  if (!roll_call_began_) {
    roll_call_began_ = now();
    for (int i = 0; i < size(); ++i) {
      // mpirun sends SIGTERM to all when it has lost one: each tells the others
      // that it is there.
      if (i != rank()) send_notice(i, {Notice::Kind::kAlive, rank(), ""});
    }
  }
  // A rank that waits for nobody is not held up by one that is lost.
  if (oldest() == nullptr || now() - *roll_call_began_ < kRollCallSeconds) {
    return false;
  }
  const std::vector<int> lost = lost_ranks();
  // All are there, and the program has a handler of its own: it decides when to
  // end, and needs its network until then.
  if (lost.empty() && !is_termination_ours()) return false;
  has_failed_ = true;
  Error error(ErrorCode::kCancelled, fmt::format("rank {}", rank()),
              "ended by SIGTERM");
  if (!lost.empty()) {
    error = Error(ErrorCode::kUnavailable, fmt::format("rank {}", lost.front()),
                  "is lost: it has not answered since rank {} was sent SIGTERM",
                  rank());
    // Sends to it would be waited for until mpirun kills this process.
    is_stuck_ = true;
    if (lost.size() > 1) {
      error.detail(fmt::format("lost: ranks {}", fmt::join(lost, ", ")));
    }
  }
  error.detail(describe(waiting_for(lost)));
  fail_all(error);
  return true;
}

void MpiTransport::check(int error, std::string_view where) const {
  if (error == 0) return;
  throw Error(ErrorCode::kUnavailable, "mpi", "{}: {}", where, text_of(error));
}

std::string MpiTransport::text_of(int error) const {
  char text[256];
  mpi_.error_text(error, text, sizeof(text));
  return text;
}

}  // namespace weft
