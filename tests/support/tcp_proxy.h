// Stands between two ranks, as whoever owns the network does: it passes on what
// they say, keeps it, and may change a bit of it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <thread>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/tcp/socket.h"

namespace weft::test {

class TcpProxy {
 public:
  // Passes one connection on to `to`. Of the bytes that come from there, a bit
  // of the one at `flipped` is changed.
  explicit TcpProxy(const tcp::Address& to,
                    std::optional<std::size_t> flipped = std::nullopt)
      : door_(tcp::Socket::listen(tcp::Address::of_numbers("127.0.0.1:0"))),
        to_(to),
        flipped_(flipped),
        thread_([this] { pass_on(); }) {}
  ~TcpProxy() { stop(); }
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  tcp::Address address() const { return door_.here(); }
  // All that went through, once both sides have closed.
  const Bytes& heard() {
    stop();
    return heard_;
  }

 private:
  void stop() {
    if (thread_.joinable()) thread_.join();
  }

  void pass_on() {
    wait(door_, POLLIN);
    tcp::Socket near = std::move(*door_.accept());
    tcp::Socket far = tcp::Socket::connect(to_);
    wait(far, POLLOUT);
    std::size_t back = 0;  // bytes that came from the far end
    bool is_near_open = true;
    bool is_far_open = true;
    while (is_near_open || is_far_open) {
      pollfd wanted[] = {{is_near_open ? near.get() : -1, POLLIN, 0},
                         {is_far_open ? far.get() : -1, POLLIN, 0}};
      tcp::wait_for(wanted, 10);
      if (wanted[0].revents != 0) is_near_open = pass(near, far, nullptr);
      if (wanted[1].revents != 0) is_far_open = pass(far, near, &back);
    }
  }

  // False when `from` has closed, which `to` is told.
  bool pass(tcp::Socket& from, tcp::Socket& to, std::size_t* count) {
    try {
      std::array<std::byte, 4096> room;
      const std::size_t came = from.receive(room);
      const auto bytes = std::span(room).first(came);
      if (count != nullptr && flipped_ && *flipped_ >= *count &&
          *flipped_ < *count + came) {
        bytes[*flipped_ - *count] ^= std::byte{1};
      }
      if (count != nullptr) *count += came;
      heard_.insert(heard_.end(), bytes.begin(), bytes.end());
      for (std::size_t sent = 0; sent < came;) {
        wait(to, POLLOUT);
        sent += to.send(bytes.subspan(sent));
      }
      return true;
    } catch (const Error&) {
      to.end_sending();
      return false;
    }
  }

  static void wait(const tcp::Socket& socket, short events) {
    pollfd wanted[] = {{socket.get(), events, 0}};
    tcp::wait_for(wanted, 10);
  }

  tcp::Socket door_;
  tcp::Address to_;
  std::optional<std::size_t> flipped_;
  Bytes heard_;
  std::thread thread_;
};

}  // namespace weft::test
