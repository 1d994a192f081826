// The gRPC side of the server: calls arrive on threads of the library, wait in
// the models' queues without one, and are finished by who computed them.
//
// Threads: thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "weft/serve/http/options.h"
#include "weft/serve/server.h"

namespace weft::serve {

// gRPC counts the bytes of a message in an int.
inline constexpr std::size_t kMostGrpcMessage = std::numeric_limits<int>::max();

struct GrpcOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8001;  // 0: any that is free
  TlsFiles tls = {};
  std::size_t most_message_bytes = 64 << 20;  // kMostGrpcMessage at most
};

class GrpcServer {
 public:
  // Serves from here on. Throws Error(kUnavailable) for an address that cannot
  // be had, and as reading the files of TLS does.
  GrpcServer(Server& server, const GrpcOptions& options);
  ~GrpcServer();

  std::uint16_t port() const;

  // Takes no more calls, and returns when those under way are answered, or the
  // time has come and they are cancelled.
  void close(Time until);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::serve
