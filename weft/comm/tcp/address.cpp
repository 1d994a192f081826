#include "weft/comm/tcp/address.h"

#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>

#include "weft/base/error.h"

namespace weft::tcp {
namespace {

struct HostAndPort {
  std::string host;
  std::string port;
};

Error no_address(std::string_view text, std::string_view why) {
  return Error(ErrorCode::kInvalidArgument, "tcp", "'{}' {}", text, why)
      .hint(
          "an address is a host and a port: 10.0.0.1:7070, node1:7070, or "
          "\"[::1]:7070\"");
}

HostAndPort split(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) throw no_address(text, "has no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  int number = -1;
  const auto read =
      std::from_chars(port.data(), port.data() + port.size(), number);
  if (read.ec != std::errc() || read.ptr != port.data() + port.size() ||
      number < 0 || number > 65535) {
    throw no_address(text, "has no port between 0 and 65535");
  }
  // Addresses of IPv6 have colons of their own, which brackets keep apart.
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != host.npos) {
    throw no_address(text, "needs brackets around its host");
  }
  if (host.empty()) throw no_address(text, "has no host");
  return {std::string(host), std::string(port)};
}

}  // namespace

Address Address::find(std::string_view text, int flags) {
  const HostAndPort wanted = split(text);
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error =
      getaddrinfo(wanted.host.c_str(), wanted.port.c_str(), &hints, &list);
  if (error != 0) {
    throw Error(ErrorCode::kUnavailable, "tcp",
                "the host of '{}' cannot be found: {}", text,
                gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list,
                                                             freeaddrinfo);
  WEFT_CHECK(list != nullptr, "a host was found that has no address");
  const addrinfo* chosen = list;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET) continue;
    chosen = each;
    break;
  }
  Address address;
  address.size_ = chosen->ai_addrlen;
  std::memcpy(&address.storage_, chosen->ai_addr, chosen->ai_addrlen);
  return address;
}

Address Address::look_up(std::string_view text) { return find(text, 0); }

Address Address::of_numbers(std::string_view text) {
  return find(text, AI_NUMERICHOST);
}

Address Address::of_here(int socket) {
  Address address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage_),
              &address.size_);
  return address;
}

Address Address::of_peer(int socket) {
  Address address;
  // A peer that is gone already leaves an address without a family.
  getpeername(socket, reinterpret_cast<sockaddr*>(&address.storage_),
              &address.size_);
  return address;
}

std::string Address::text() const {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(data(), size_, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "an unknown address";
  }
  return family() == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                              : fmt::format("{}:{}", host, port);
}

bool Address::is_loopback() const {
  if (family() == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage_);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage_);
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

Address Address::with_port(int port) const {
  Address result = *this;
  const in_port_t number = htons(static_cast<std::uint16_t>(port));
  if (family() == AF_INET) {
    reinterpret_cast<sockaddr_in&>(result.storage_).sin_port = number;
  } else {
    reinterpret_cast<sockaddr_in6&>(result.storage_).sin6_port = number;
  }
  return result;
}

}  // namespace weft::tcp
