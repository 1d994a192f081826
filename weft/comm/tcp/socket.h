// A TCP socket that never waits: what cannot be done at once is tried again
// when poll(2) says so.
//
// Threads: one at a time.
// Errors:  Error(kUnavailable) with the system's reason.
#pragma once

#include <cstddef>
#include <optional>
#include <poll.h>
#include <span>

#include "weft/base/error.h"
#include "weft/comm/tcp/address.h"

namespace weft::tcp {

class Socket {
 public:
  Socket() = default;
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  // Waits for connections at an address of this machine; at a port of the
  // system's choice if that is 0.
  static Socket listen(const Address& address);
  // Begins to connect; poll(2) finds it writable when that is over.
  static Socket connect(const Address& address);

  // The next connection that waits at a listening socket, if any.
  std::optional<Socket> accept();
  // Why connect() has failed; empty if it has not.
  std::string connect_failure() const;

  // How many bytes were moved; 0 where none can be just now. Throws when the
  // connection is closed or broken.
  std::size_t send(std::span<const std::byte> bytes);
  std::size_t receive(std::span<std::byte> room);
  // Says that nothing more will be sent.
  void end_sending() noexcept;

  int get() const { return descriptor_; }
  Address here() const { return Address::of_here(descriptor_); }
  Address peer() const { return Address::of_peer(descriptor_); }

 private:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  void set_options() const;

  int descriptor_ = -1;
};

// Seconds of a clock that only goes forward.
double clock_seconds();

// Waits until one of them is ready, or for so many seconds; a signal ends the
// wait as well.
void wait_for(std::span<pollfd> sockets, double seconds);

}  // namespace weft::tcp
