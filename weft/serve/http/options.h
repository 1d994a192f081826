// What the HTTP side allows its clients. Whoever exceeds a limit costs a
// connection, never a thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fmt/core.h>
#include <string>

namespace weft::serve {

struct TlsFiles {
  std::string certificate;  // PEM, with those that signed it; empty: no TLS
  std::string key;          // PEM

  bool is_wanted() const { return !certificate.empty(); }
};

// "127.0.0.1:8000"; an address that has colons itself stands in brackets, as in
// URLs: "[::1]:8000".
inline std::string endpoint_text(const std::string& address, int port) {
  const bool has_colon = address.find(':') != std::string::npos;
  return has_colon ? fmt::format("[{}]:{}", address, port)
                   : fmt::format("{}:{}", address, port);
}

struct HttpOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8000;  // 0: any that is free
  TlsFiles tls = {};
  int threads = 1;  // that run the context, which whoever made it sees to
  std::size_t most_connections = 1024;
  std::size_t most_header_bytes = 16 << 10;
  std::size_t most_body_bytes = 64 << 20;
  // Between two requests; of the bytes of a request, from the first to the
  // last; of those of an answer, as long as none moves.
  std::chrono::milliseconds idle{60'000};
  std::chrono::milliseconds receive{30'000};
  std::chrono::milliseconds send{30'000};
};

}  // namespace weft::serve
