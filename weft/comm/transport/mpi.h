// Ranks that are processes, over MPI: see launcher.h for how to get one.
//
// Small messages between ranks of one machine go through memory that these
// share (neighbour.h). All others are MPI's, from and to the buffers of their
// transfers without a copy of ours. A poll spins for a moment, for latency,
// then gives its core away, then sleeps: there may be more processes than
// cores.
//
// A failure (a notice of kFailure, sent or received) is final: MPI has no way
// to go on without a rank. The process is expected to say why and to end with
// another status than 0, upon which mpirun ends the others. MPI is shut down
// properly only if there was none.
//
// mpirun ends the other ranks by SIGTERM when one has died, and kills them a
// second later. So a rank that gets it tells all others that it is alive; after
// kRollCallSeconds those not heard of are lost, and transfers fail with an
// Error(kUnavailable) that names them and what this rank was waiting for. Where
// none is lost, it is for the program to end: one that has a handler of its own
// must call the one that it finds, and goes on until it has ended; in one that
// has none, all transfers fail with an Error(kCancelled).
//
// A receive that is abandoned is cancelled. A send is waited for, as its buffer
// is about to go, but not for longer than kAbandonSeconds: after that this
// process makes no call of MPI any more.
//
// Threads: as Transport says.
#pragma once

#include <atomic>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/comm/mpi/functions.h"
#include "weft/comm/transport/neighbour.h"
#include "weft/comm/transport/transport.h"

namespace weft {

class MpiTransport final : public Transport {
 public:
  // Enters MPI, with all ranks. One per process.
  explicit MpiTransport(const MpiFunctions& mpi);
  ~MpiTransport() override;

  int rank() const override { return info_.rank; }
  int size() const override { return info_.size; }
  const std::string& host(int rank) const override {
    return hosts_[static_cast<std::size_t>(rank)];
  }
  double now() const override;
  std::string_view name() const override { return "mpi"; }
  int tag_bits() const override { return info_.tag_bits; }
  // What fits into the pipe between ranks of one machine.
  bool can_fold(int peer, std::size_t bytes) const override;
  bool poll(double seconds) override;
  void wake() override { is_woken_ = true; }
  void send_notice(int to, const Notice& notice) noexcept override;

 protected:
  void start(Transfer& transfer) override;
  void abandon(Transfer& transfer) noexcept override;

 private:
  // A byte for the kind, then the text.
  struct NoticeBytes {
    char bytes[1 + kMostNoticeBytes];
  };

  // What has moved.
  struct Progress {
    bool is_over = false;
    bool has_notice = false;
  };
  Progress move();
  // Moves messages in shared memory; true if one of them is over.
  bool move_neighbours();
  void meet_neighbours();
  Neighbour* neighbour(const Transfer& transfer);
  void settle(const Neighbour::Outcome& outcome);
  void start_in_mpi(Transfer& transfer);
  void end(const MpiCompletion& completion);
  void hear_notice(const MpiCompletion& completion);
  void listen_for_notices();
  bool fail_if_terminated();
  // The ranks that have not said that they are alive, and the oldest transfer
  // that waits for one of them, or for any.
  std::vector<int> lost_ranks() const;
  const Transfer& waiting_for(std::span<const int> lost) const;
  // Throws for an error of MPI.
  void check(int error, std::string_view where) const;
  std::string text_of(int error) const;

  static constexpr double kAbandonSeconds = 1;
  static constexpr double kRollCallSeconds = 0.3;

  const MpiFunctions& mpi_;
  MpiWorldInfo info_;
  std::vector<std::string> hosts_;
  std::vector<std::optional<Neighbour>> neighbours_;  // by rank
  int in_mpi_ = 0;                                    // transfers under way
  unsigned polls_ = 0;
  double spin_seconds_ = 0;
  NoticeBytes incoming_ = {};
  std::list<NoticeBytes> outgoing_;  // notices on their way
  std::atomic<bool> is_woken_ = false;
  std::vector<bool> is_alive_;             // by rank; have said so
  std::optional<double> roll_call_began_;  // when SIGTERM was noticed
  bool has_failed_ = false;
  bool is_stuck_ = false;  // a send was abandoned under way
};

}  // namespace weft
