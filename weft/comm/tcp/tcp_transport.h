// Ranks that are processes, each connected to each over TCP: see meeting.h for
// how they find each other, and whom they let in.
//
// A send is over when the transport has taken its last byte. A receive that is
// abandoned drops what still comes for it; a send that is abandoned under way
// fails its receive. A rank whose connection ends fails what waits for it with
// an Error that names it, the operation and the tensor; what it had sent whole
// may still be received.
//
// Messages that may arrive in part go as datagrams, if the ranks have agreed on
// that; else they are messages like any other.
//
// Whoever goes sends all that it has queued, and reads until the others have
// gone too, or for kLingerSeconds: what it said last, such as why it failed, is
// then with them.
//
// Threads: as Transport says.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "weft/comm/tcp/datagrams.h"
#include "weft/comm/tcp/link.h"
#include "weft/comm/tcp/own_messages.h"

namespace weft::tcp {

// How messages travel that may arrive in part.
struct DatagramPlaces {
  DatagramSocket socket;           // of this rank
  std::vector<Address> addresses;  // of all, by rank
  DatagramTimes times = {};
};

// The ranks of a run, once they have met.
struct Company {
  int rank = 0;                         // this one
  std::vector<std::string> hosts;       // by rank
  std::vector<Connection> connections;  // to all others
  std::optional<DatagramPlaces> datagrams = {};
};

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(Company company);
  ~TcpTransport() override;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hosts_.size()); }
  const std::string& host(int rank) const override {
    return hosts_[static_cast<std::size_t>(rank)];
  }
  double now() const override { return clock_seconds(); }
  std::string_view name() const override { return "tcp"; }
  bool poll(double seconds) override;
  void wake() override;
  void send_notice(int to, const Notice& notice) noexcept override;

 protected:
  void start(Transfer& transfer) override;
  void abandon(Transfer& transfer) noexcept override;

 private:
  // Waits for so long until something can be moved, and moves it. True if the
  // wait was ended by wake().
  bool move(double seconds, News& news);
  bool take_wake();
  // Ends the links that broke, unless a notice may say why.
  void end_broken(News& news);
  // True if a transfer is over.
  bool settle(News& news);
  void move_datagrams(short events, News& news);
  bool goes_by_datagrams(const Transfer& transfer) const;
  Link& link(int rank) const { return *links_[static_cast<std::size_t>(rank)]; }
  void pass_failure_on();
  void linger();

  static constexpr double kLingerSeconds = 1;

  int rank_;
  std::vector<std::string> hosts_;
  std::vector<std::unique_ptr<Link>> links_;  // by rank; none to itself
  OwnMessages own_;
  std::optional<Datagrams> datagrams_;
  int wake_;                   // a descriptor that wake() makes readable
  bool is_over_ = false;       // a transfer, outside of a poll
  bool is_told_ = false;       // a notice came before the first poll
  std::string heard_failure_;  // what the first notice of one said
  // What the last poll looked at; kept for its memory.
  std::vector<pollfd> ready_;
  std::vector<Link*> polled_;
};

}  // namespace weft::tcp
