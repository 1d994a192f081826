// weft-serve-bare REQUEST_BYTES RUN_SECONDS REQUEST_SECONDS: the least that can
// be called a server of models, to see what tail a machine leaves to anyone. It
// prints where it listens, and ends with the signal that ends it.
//
// Its one thread reads what has come, computes once for all of it, always for
// as long, and sends an HTTP answer that is made beforehand. It parses nothing:
// so many bytes are a request,
// for each of which it computes besides, before it sends the answer.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/core.h>
#include <span>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/comm/tcp/address.h"
#include "weft/comm/tcp/socket.h"

namespace {

namespace tcp = weft::tcp;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
constexpr double kNever = 3600;  // seconds to wait for a request

void compute(Seconds time) {
  for (const auto end = Clock::now() + time; Clock::now() < end;) {
  }
}

class BareServer {
 public:
  BareServer(std::size_t request_bytes, Seconds run, Seconds request)
      : request_bytes_(request_bytes),
        run_(run),
        request_(request),
        listening_(tcp::Socket::listen(tcp::Address::look_up("127.0.0.1:0"))),
        room_(request_bytes) {
    fmt::print("http://{}\n", listening_.here().text());
    std::fflush(stdout);
  }

  [[noreturn]] void run() {
    while (true) {
      wait();
      read();
      answer();
      while (auto socket = listening_.accept()) {
        connections_.push_back({std::move(*socket)});
      }
    }
  }

 private:
  struct Connection {
    tcp::Socket socket;
    std::size_t received = 0;
    bool is_open = true;
  };

  void wait() {
    sockets_.assign(1, {listening_.get(), POLLIN, 0});
    for (const Connection& each : connections_) {
      sockets_.push_back({each.socket.get(), POLLIN, 0});
    }
    tcp::wait_for(sockets_, kNever);
  }

  void read() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      Connection& connection = connections_[i];
      if (sockets_[i + 1].revents == 0) continue;
      const std::size_t left = request_bytes_ - connection.received;
      try {
        connection.received +=
            connection.socket.receive(std::span(room_).first(left));
      } catch (const weft::Error&) {
        connection.is_open = false;
      }
    }
    std::erase_if(connections_,
                  [](const Connection& each) { return !each.is_open; });
  }

  void answer() {
    const auto is_whole = [&](const Connection& each) {
      return each.received == request_bytes_;
    };
    if (std::ranges::none_of(connections_, is_whole)) return;
    compute(run_);
    for (Connection& each : connections_) {
      if (!is_whole(each)) continue;
      each.received = 0;
      compute(request_);
      try {
        // So few bytes always have a place in the socket's buffer.
        each.socket.send(std::as_bytes(std::span(kAnswer)));
      } catch (const weft::Error&) {
        each.is_open = false;
      }
    }
  }

  std::size_t request_bytes_;
  Seconds run_;
  Seconds request_;
  tcp::Socket listening_;
  std::vector<std::byte> room_;
  std::vector<Connection> connections_;
  std::vector<pollfd> sockets_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool is_used = argc == 4;
  const std::size_t bytes = is_used ? std::strtoull(argv[1], nullptr, 10) : 0;
  const double run = is_used ? std::strtod(argv[2], nullptr) : 0;
  const double request = is_used ? std::strtod(argv[3], nullptr) : 0;
  if (bytes == 0 || !(run >= 0 && request >= 0)) {
    fmt::print(stderr,
               "weft-serve-bare: REQUEST_BYTES RUN_SECONDS REQUEST_SECONDS\n");
    return 2;
  }
  try {
    BareServer(bytes, Seconds(run), Seconds(request)).run();
  } catch (const weft::Error& error) {
    fmt::print(stderr, "weft-serve-bare: {}\n", error.what());
    return 1;
  }
}
