// Where a rank listens: "10.0.0.1:7070", "[::1]:7070", "node1:7070".
//
// Threads: thread-safe.
// Errors:  Error(kInvalidArgument) for a text that is no address,
//          Error(kUnavailable) for a name that nobody knows.
#pragma once

#include <string>
#include <string_view>
#include <sys/socket.h>

namespace weft::tcp {

class Address {
 public:
  // Looks a name up, which may wait for the network; where it has several
  // addresses, the first of IPv4 counts, so that all ranks take the same one.
  static Address look_up(std::string_view text);
  // Only numbers, so that nothing is asked of the network.
  static Address of_numbers(std::string_view text);
  // Those of the two ends of a socket.
  static Address of_here(int socket);
  static Address of_peer(int socket);

  // "10.0.0.1:7070", without a name.
  std::string text() const;
  // Whether only processes of this machine reach it.
  bool is_loopback() const;
  Address with_port(int port) const;

  const sockaddr* data() const {
    return reinterpret_cast<const sockaddr*>(&storage_);
  }
  socklen_t size() const { return size_; }
  int family() const { return storage_.ss_family; }

 private:
  static Address find(std::string_view text, int flags);

  sockaddr_storage storage_ = {};
  socklen_t size_ = sizeof(storage_);
};

}  // namespace weft::tcp
