// A UDP socket that never waits.
//
// Threads: one at a time.
// Errors:  Error(kUnavailable) with the system's reason, of bind() alone: what
//          goes wrong with a datagram loses it.
#pragma once

#include <cstddef>
#include <span>

#include "weft/comm/tcp/address.h"

namespace weft::tcp {

class DatagramSocket {
 public:
  // At an address of this machine.
  static DatagramSocket bind(const Address& address);

  DatagramSocket(DatagramSocket&& other) noexcept;
  DatagramSocket& operator=(DatagramSocket&& other) noexcept;
  ~DatagramSocket();

  // False where the system takes none just now.
  bool send(const Address& to, std::span<const std::byte> datagram);
  // Its bytes, 0 where none has come. What is longer than `room` is cut.
  std::size_t receive(std::span<std::byte> room);

  int get() const { return descriptor_; }

 private:
  explicit DatagramSocket(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace weft::tcp
