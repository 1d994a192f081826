// Ranks that meet over TCP, each on a thread of this process.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/errors.h"

#include "weft/comm/tcp/meeting.h"

namespace weft::test {

inline const tcp::RunKey& test_key() {
  static const tcp::RunKey key("the key of tests, known to everybody", "test");
  return key;
}

inline tcp::Address any_port() {
  return tcp::Address::of_numbers("127.0.0.1:0");
}

// One at which nobody listens.
inline int free_port() {
  const std::string text = tcp::Socket::listen(any_port()).here().text();
  return std::stoi(text.substr(text.rfind(':') + 1));
}

// Runs `body` as each of the ranks, and gives what each has thrown, as text.
// Rank 0 listens at a port of the system's choice; the others call `front`,
// which may be in front of it.
class TcpRanks {
 public:
  explicit TcpRanks(int size, bool has_key = true)
      : size_(size),
        has_key_(has_key),
        door_(tcp::Socket::listen(any_port())),
        first_(door_.here()) {}

  const tcp::Address& first() const { return first_; }
  tcp::MeetingOptions options(int rank) const {
    tcp::MeetingOptions options{.rank = rank, .ranks = size_};
    if (has_key_) options.key = test_key();
    options.sends_datagrams = sends_datagrams_;
    return options;
  }

  void send_datagrams() { sends_datagrams_ = true; }

  std::vector<std::string> run(const std::function<void(Transport&)>& body) {
    return run(body, first_);
  }
  std::vector<std::string> run(const std::function<void(Transport&)>& body,
                               const tcp::Address& front) {
    std::vector<std::string> messages(static_cast<std::size_t>(size_));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([&, rank] {
        messages[static_cast<std::size_t>(rank)] = message_of([&] {
          tcp::TcpTransport transport(
              rank == 0 ? tcp::meet_as_first(std::move(door_), options(0))
                        : tcp::meet_at(front, options(rank)));
          body(transport);
        });
      });
    }
    for (std::thread& thread : threads) thread.join();
    return messages;
  }

 private:
  int size_;
  bool has_key_;
  bool sends_datagrams_ = false;
  tcp::Socket door_;
  tcp::Address first_;
};

}  // namespace weft::test
