// weft-serve-load HOST PORT REQUEST: sends the bytes of a file, one HTTP
// request, again and again over some connections, and prints what came of it as
// JSON. Of a folder it sends all files, one after the other by their names.
//
// With --rate requests are due at even intervals, or with --arrivals poisson as
// those of many people who know nothing of each other, whether or not those
// before are answered. Their time counts from when they were due: a server that
// stalls makes all those wait that would have come meanwhile (Tene's
// "coordinated omission" is to leave them out). Without a rate, each connection
// sends when its last answer has come, which measures how much the server can
// do.
//
// It shares its cores with the server, so that what it does counts: it waits
// for all sockets and for the next request in one call, without timers.
#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <deque>
#include <filesystem>
#include <fmt/core.h>
#include <optional>
#include <poll.h>
#include <random>
#include <set>
#include <span>
#include <string>
#include <sys/prctl.h>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/file.h"
#include "weft/comm/tcp/address.h"
#include "weft/comm/tcp/socket.h"

namespace {

namespace http = boost::beast::http;
namespace tcp = weft::tcp;

struct Arguments {
  std::string host, port, request;
  int connections = 16;
  double seconds = 5;
  double rate = 0;  // requests per second; 0: as fast as they are answered
  bool is_poisson = false;
};

// When requests are due, in seconds from the start, one after the other.
class Arrivals {
 public:
  Arrivals(double rate, bool is_poisson)
      : rate_(rate), is_poisson_(is_poisson) {}

  double next() {
    const double due = next_;
    // Summed up, even intervals would drift from their rate.
    next_ = is_poisson_ ? due + interval_(random_) / rate_
                        : static_cast<double>(++count_) / rate_;
    return due;
  }

 private:
  double rate_;
  bool is_poisson_;
  std::mt19937_64 random_{1};
  std::exponential_distribution<> interval_;
  std::int64_t count_ = 0;
  double next_ = 0;
};

// One request at a time goes over it.
class Connection {
 public:
  explicit Connection(const tcp::Address& server)
      : socket_(tcp::Socket::connect(server)) {
    pollfd connected{socket_.get(), POLLOUT, 0};
    tcp::wait_for({&connected, 1}, kConnectsWithinSeconds);
    const std::string failure =
        connected.revents == 0 ? "nobody answers" : socket_.connect_failure();
    if (!failure.empty()) {
      throw weft::Error(weft::ErrorCode::kUnavailable, server.text(), "{}",
                        failure);
    }
  }

  void begin(std::string_view request, double due) {
    due_ = due;
    unsent_ = std::as_bytes(std::span(request));
    answer_.emplace();
    answer_->eager(true);
    unsent_ = unsent_.subspan(socket_.send(unsent_));
  }

  // Sends and receives what can be now, and says whether the answer is whole.
  bool go_on() {
    if (!unsent_.empty()) unsent_ = unsent_.subspan(socket_.send(unsent_));
    const auto room = received_.prepare(kReceiveBytes);
    received_.commit(
        socket_.receive({static_cast<std::byte*>(room.data()), room.size()}));
    boost::system::error_code error;
    received_.consume(answer_->put(received_.data(), error));
    if (error && error != http::error::need_more) {
      throw weft::Error(weft::ErrorCode::kDataLoss, "the answer", "{}",
                        error.message());
    }
    return answer_->is_done();
  }

  pollfd awaited() const {
    const int events = unsent_.empty() ? POLLIN : POLLIN | POLLOUT;
    return {socket_.get(), static_cast<short>(events), 0};
  }
  double due() const { return due_; }
  bool is_ok() const { return answer_->get().result() == http::status::ok; }

 private:
  static constexpr double kConnectsWithinSeconds = 10;
  static constexpr std::size_t kReceiveBytes = 64 << 10;

  tcp::Socket socket_;
  double due_ = 0;
  std::span<const std::byte> unsent_;
  boost::beast::flat_buffer received_;
  std::optional<http::response_parser<http::string_body>> answer_;
};

class Load {
 public:
  Load(const Arguments& arguments, std::vector<std::string> requests)
      : arguments_(arguments),
        requests_(std::move(requests)),
        arrivals_(arguments.rate, arguments.is_poisson) {
    const auto server =
        tcp::Address::look_up(arguments.host + ":" + arguments.port);
    for (int i = 0; i < arguments.connections; ++i) {
      idle_.push_back(connections_.size());
      connections_.emplace_back(server);
    }
    sockets_.resize(connections_.size(), kNoSocket);
  }

  void run() {
    start_ = last_ = tcp::clock_seconds();
    end_ = start_ + arguments_.seconds;
    due_ = start_ + arrivals_.next();
    while (true) {
      const double now = tcp::clock_seconds();
      take_due(now);
      while (!late_.empty() && !idle_.empty()) send_next();
      const bool is_over = now >= end_ && late_.empty();
      if (busy_ == 0 && (is_over || idle_.empty())) break;
      wait();
    }
    errors_ += static_cast<std::int64_t>(late_.size());
  }

  void print() {
    std::ranges::sort(latencies_);
    const auto at = [&](double share) {
      if (latencies_.empty()) return 0.0;
      const auto last = static_cast<double>(latencies_.size() - 1);
      return latencies_[static_cast<std::size_t>(share * last)];
    };
    const double seconds = last_ - start_;
    fmt::print(R"({{"answered": {}, "errors": {}, "seconds": {}, "rate": {}, )"
               R"("p50": {}, "p90": {}, "p99": {}, "longest": {}}})"
               "\n",
               latencies_.size(), errors_, seconds,
               static_cast<double>(latencies_.size()) / seconds, at(0.5),
               at(0.9), at(0.99), at(1));
  }

 private:
  static constexpr pollfd kNoSocket{-1, 0, 0};
  static constexpr double kNever = 3600;  // seconds to wait for an answer

  // Without a rate, a request is due wherever a connection is idle.
  void take_due(double now) {
    if (arguments_.rate == 0) {
      if (now < end_) late_.resize(idle_.size(), now);
      return;
    }
    for (; due_ <= now && due_ < end_; due_ = start_ + arrivals_.next()) {
      late_.push_back(due_);
    }
  }

  void send_next() {
    const std::size_t at = idle_.front();
    idle_.pop_front();
    const double due = late_.front();
    late_.pop_front();
    ++busy_;
    go_on(at, [&](Connection& connection) {
      connection.begin(requests_[next_request_++ % requests_.size()], due);
      return false;
    });
  }

  // Until an answer comes, or a request is due that a connection can take.
  void wait() {
    const bool can_send = !idle_.empty() && arguments_.rate > 0 && due_ < end_;
    const double seconds = can_send || busy_ == 0
                               ? std::min(due_, end_) - tcp::clock_seconds()
                               : kNever;
    tcp::wait_for(sockets_, seconds);
    for (std::size_t at = 0; at < sockets_.size(); ++at) {
      if (sockets_[at].revents == 0) continue;
      go_on(at, [](Connection& connection) { return connection.go_on(); });
    }
  }

  // Takes a step of a request, which says whether the answer is whole. A
  // connection that breaks is lost, and its request is an error.
  template <class Step>
  void go_on(std::size_t at, Step step) {
    Connection& connection = connections_[at];
    try {
      const bool is_whole = step(connection);
      sockets_[at] = is_whole ? kNoSocket : connection.awaited();
      if (!is_whole) return;
      last_ = tcp::clock_seconds();
      if (connection.is_ok()) {
        latencies_.push_back(last_ - connection.due());
      } else {
        ++errors_;
      }
      idle_.push_back(at);
    } catch (const weft::Error&) {
      sockets_[at] = kNoSocket;
      ++errors_;
    }
    --busy_;
  }

  Arguments arguments_;
  const std::vector<std::string> requests_;
  std::size_t next_request_ = 0;
  std::deque<Connection> connections_;  // which stay where they are
  std::vector<pollfd> sockets_;  // of connections whose answer is awaited
  std::deque<std::size_t> idle_;
  std::size_t busy_ = 0;
  std::deque<double> late_;  // due, and without a connection
  Arrivals arrivals_;
  double start_ = 0, end_ = 0, last_ = 0;
  double due_ = 0;  // of the next request
  std::int64_t errors_ = 0;
  std::vector<double> latencies_;
};

std::vector<std::string> requests_in(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) return {weft::read_text(place)};
  const std::filesystem::directory_iterator folder(place);
  std::set<std::filesystem::path> files(begin(folder), end(folder));
  std::vector<std::string> requests;
  for (const auto& file : files) requests.push_back(weft::read_text(file));
  if (requests.empty()) {
    throw weft::Error(weft::ErrorCode::kInvalidArgument, place.string(),
                      "the folder has no request");
  }
  return requests;
}

Arguments parse(int argc, char** argv) {
  const auto usage = [] {
    return weft::Error(weft::ErrorCode::kInvalidArgument, "weft-serve-load",
                       "HOST PORT REQUEST [--connections N] [--seconds S] "
                       "[--rate PER_S] [--arrivals even|poisson]");
  };
  if (argc < 4 || argc % 2 != 0) throw usage();
  Arguments arguments{.host = argv[1], .port = argv[2], .request = argv[3]};
  for (int i = 4; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--arrivals") {
      const std::string_view law = argv[i + 1];
      if (law != "even" && law != "poisson") throw usage();
      arguments.is_poisson = law == "poisson";
      continue;
    }
    const double value = std::stod(argv[i + 1]);
    if (name == "--connections") {
      arguments.connections = static_cast<int>(value);
    } else if (name == "--seconds") {
      arguments.seconds = value;
    } else if (name == "--rate") {
      arguments.rate = value;
    } else {
      throw usage();
    }
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    // The system would wait for up to 50 us longer than it is asked to.
    prctl(PR_SET_TIMERSLACK, 1UL);
    Load load(arguments, requests_in(arguments.request));
    load.run();
    load.print();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
