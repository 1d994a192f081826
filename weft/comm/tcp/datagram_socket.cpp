#include "weft/comm/tcp/datagram_socket.h"

#include <cerrno>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "weft/base/error.h"

namespace weft::tcp {
namespace {

// What comes while this rank computes is kept, as far as the system lets it.
constexpr int kReceiveBytes = 8 << 20;
// What stands in front of a slow card is in nobody's way.
constexpr int kSendBytes = 256 << 10;

}  // namespace

DatagramSocket DatagramSocket::bind(const Address& address) {
  DatagramSocket socket(
      ::socket(address.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 ||
      ::bind(socket.get(), address.data(), address.size()) != 0) {
    throw Error(ErrorCode::kUnavailable, "tcp",
                "cannot receive datagrams at {}: {}", address.text(),
                std::generic_category().message(errno));
  }
  // Only the system's administrators may have more than its own bound.
  if (setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes,
                 sizeof(kReceiveBytes)) != 0) {
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBytes,
               sizeof(kReceiveBytes));
  }
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kSendBytes,
             sizeof(kSendBytes));
  return socket;
}

DatagramSocket::DatagramSocket(DatagramSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

DatagramSocket& DatagramSocket::operator=(DatagramSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

DatagramSocket::~DatagramSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool DatagramSocket::send(const Address& to,
                          std::span<const std::byte> datagram) {
  const ssize_t sent = ::sendto(descriptor_, datagram.data(), datagram.size(),
                                MSG_NOSIGNAL, to.data(), to.size());
  return sent >= 0 ||
         (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

std::size_t DatagramSocket::receive(std::span<std::byte> room) {
  const ssize_t came = ::recv(descriptor_, room.data(), room.size(), 0);
  return came > 0 ? static_cast<std::size_t>(came) : 0;
}

}  // namespace weft::tcp
