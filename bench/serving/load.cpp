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
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fmt/core.h>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/file.h"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

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

class Load;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Load& load, asio::io_context& context)
      : load_(load), stream_(context) {}

  void connect(const asio::ip::tcp::endpoint& server) {
    stream_.connect(server);
    stream_.socket().set_option(asio::ip::tcp::no_delay(true));
  }
  void send(Clock::time_point due);

 private:
  void receive();
  void finish(error_code error);

  Load& load_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::response_parser<http::string_body>> parser_;
  Clock::time_point due_;
};

class Load {
 public:
  Load(const Arguments& arguments, std::vector<std::string> requests)
      : arguments_(arguments),
        requests_(std::move(requests)),
        timer_(context_),
        arrivals_(arguments.rate, arguments.is_poisson) {}

  void run() {
    asio::ip::tcp::resolver resolver(context_);
    const auto server =
        resolver.resolve(arguments_.host, arguments_.port)->endpoint();
    for (int i = 0; i < arguments_.connections; ++i) {
      idle_.push_back(std::make_shared<Connection>(*this, context_));
      idle_.back()->connect(server);
    }
    start_ = Clock::now();
    end_ = start_ + seconds(arguments_.seconds);
    if (arguments_.rate > 0) {
      due_ = start_ + seconds(arrivals_.next());
      arrive();
    } else {
      for (const auto& each : std::exchange(idle_, {})) each->send(start_);
    }
    context_.run();
  }

  // It stays where it is.
  const std::string& next_request() {
    return requests_[next_request_++ % requests_.size()];
  }

  void finished(const std::shared_ptr<Connection>& connection,
                Clock::time_point due, unsigned status) {
    const auto now = Clock::now();
    last_ = now;
    if (status == 200) {
      latencies_.push_back(std::chrono::duration<double>(now - due).count());
    } else {
      ++errors_;
    }
    if (status == 0) return;  // the connection is gone
    if (!late_.empty()) {
      const auto next = late_.front();
      late_.pop_front();
      connection->send(next);
    } else if (arguments_.rate == 0 && now < end_) {
      connection->send(now);
    } else {
      idle_.push_back(connection);
    }
  }

  void print() {
    std::ranges::sort(latencies_);
    const auto at = [&](double share) {
      if (latencies_.empty()) return 0.0;
      const auto last = static_cast<double>(latencies_.size() - 1);
      return latencies_[static_cast<std::size_t>(share * last)];
    };
    const double seconds =
        std::chrono::duration<double>(last_ - start_).count();
    fmt::print(R"({{"answered": {}, "errors": {}, "seconds": {}, "rate": {}, )"
               R"("p50": {}, "p90": {}, "p99": {}, "longest": {}}})"
               "\n",
               latencies_.size(), errors_, seconds,
               static_cast<double>(latencies_.size()) / seconds, at(0.5),
               at(0.9), at(0.99), at(1));
  }

 private:
  // Sends what is due by now; then the timer waits for the next one.
  void arrive() {
    const auto now = Clock::now();
    for (; due_ <= now; due_ = start_ + seconds(arrivals_.next())) {
      if (due_ >= end_) return;
      if (idle_.empty()) {
        late_.push_back(due_);
        continue;
      }
      const auto connection = idle_.front();
      idle_.pop_front();
      connection->send(due_);
    }
    if (due_ >= end_) return;
    timer_.expires_at(due_);
    timer_.async_wait([this](error_code) { arrive(); });
  }

  static Clock::duration seconds(double value) {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(value));
  }

  Arguments arguments_;
  const std::vector<std::string> requests_;
  std::size_t next_request_ = 0;
  asio::io_context context_{1};
  asio::steady_timer timer_;
  std::deque<std::shared_ptr<Connection>> idle_;
  std::deque<Clock::time_point> late_;  // due, and without a connection
  Arrivals arrivals_;
  Clock::time_point start_, end_, last_;
  Clock::time_point due_;  // of the next request
  std::int64_t errors_ = 0;
  std::vector<double> latencies_;
};

void Connection::send(Clock::time_point due) {
  due_ = due;
  asio::async_write(stream_, asio::buffer(load_.next_request()),
                    [self = shared_from_this()](error_code error, std::size_t) {
                      if (error) return self->finish(error);
                      self->receive();
                    });
}

void Connection::receive() {
  parser_.emplace();
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](error_code error, std::size_t) {
                     self->finish(error);
                   });
}

void Connection::finish(error_code error) {
  load_.finished(shared_from_this(), due_,
                 error ? 0 : parser_->get().result_int());
}

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
    Load load(arguments, requests_in(arguments.request));
    load.run();
    load.print();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
