#include "weft/comm/tcp/socket.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace weft::tcp {
namespace {

// What the system may hold of a connection that it has not sent yet: more would
// only stand in the way of what is urgent.
constexpr int kUnsentBytes = 128 << 10;
constexpr int kWaitingConnections = 1024;

std::string socket_reason(int error) {
  return std::generic_category().message(error);
}

Error broken(int error) {
  return Error(ErrorCode::kUnavailable, "tcp", "its connection {}",
               error == 0 ? "was closed" : "broke: " + socket_reason(error));
}

bool is_only_busy(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

int open_socket(const Address& address) {
  const int descriptor =
      ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw broken(errno);
  return descriptor;
}

}  // namespace

Socket::Socket(Socket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Socket Socket::listen(const Address& address) {
  Socket socket(open_socket(address));
  const int on = 1;
  // The connections of an earlier run may linger at the address.
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket.get(), address.data(), address.size()) != 0 ||
      ::listen(socket.get(), kWaitingConnections) != 0) {
    const int reason = errno;
    Error error(ErrorCode::kUnavailable, "tcp", "cannot listen at {}: {}",
                address.text(), socket_reason(reason));
    if (reason == EADDRINUSE) {
      error.hint("another run may be there; take another port");
    } else if (reason == EADDRNOTAVAIL) {
      error.hint("the first rank listens at an address of its own machine");
    }
    throw error;
  }
  return socket;
}

Socket Socket::connect(const Address& address) {
  Socket socket(open_socket(address));
  socket.set_options();
  if (::connect(socket.get(), address.data(), address.size()) != 0 &&
      errno != EINPROGRESS && errno != EINTR) {
    throw broken(errno);
  }
  return socket;
}

std::optional<Socket> Socket::accept() {
  const int descriptor =
      ::accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  // A connection that broke before it was accepted is nobody's loss.
  if (descriptor < 0) return std::nullopt;
  Socket socket(descriptor);
  socket.set_options();
  return socket;
}

std::string Socket::connect_failure() const {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? "" : socket_reason(error);
}

std::size_t Socket::send(std::span<const std::byte> bytes) {
  // A broken connection is an error here, not a signal.
  const ssize_t sent =
      ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (is_only_busy(errno)) return 0;
  throw broken(errno);
}

std::size_t Socket::receive(std::span<std::byte> room) {
  const ssize_t came = ::recv(descriptor_, room.data(), room.size(), 0);
  if (came > 0) return static_cast<std::size_t>(came);
  if (came == 0) throw broken(0);
  if (is_only_busy(errno)) return 0;
  throw broken(errno);
}

void Socket::end_sending() noexcept { ::shutdown(descriptor_, SHUT_WR); }

void Socket::set_options() const {
  const int on = 1;
  // Small messages are not kept back in the hope of more.
  setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(descriptor_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes,
             sizeof(kUnsentBytes));
}

double clock_seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void wait_for(std::span<pollfd> sockets, double seconds) {
  const double time = std::max(seconds, 0.0);
  const auto whole = static_cast<time_t>(time);
  const timespec limit{
      whole, static_cast<long>(1e9 * (time - static_cast<double>(whole)))};
  if (ppoll(sockets.data(), sockets.size(), &limit, nullptr) >= 0) return;
  for (pollfd& each : sockets) each.revents = 0;
}

}  // namespace weft::tcp
