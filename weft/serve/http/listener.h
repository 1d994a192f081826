// The HTTP side of the server: accepts connections, and serves each with
// asynchronous reads and writes on a few threads, so that a client that is slow
// or dead holds none.
//
// Threads: thread-safe; the caller's io_context runs it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "weft/serve/http/options.h"
#include "weft/serve/http/routes.h"

namespace weft::serve {

class HttpListener {
 public:
  // Listens from here on. Throws Error(kUnavailable) for an address that cannot
  // be had, Error(kInvalidArgument) for a certificate or key that cannot be
  // read, or do not fit.
  HttpListener(boost::asio::io_context& context, Routes& routes,
               Metrics& metrics, const HttpOptions& options);
  ~HttpListener();

  std::uint16_t port() const;

  // Accepts no more connections and closes those that wait for a request;
  // others end with their answer.
  void end();
  // Returns when all have ended, or the time has come; says which.
  bool close(Time until);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weft::serve
