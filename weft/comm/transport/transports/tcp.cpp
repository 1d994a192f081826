// Ranks that are processes, each connected to each over TCP (comm/tcp).
#include <exception>
#include <mutex>
#include <thread>

#include "weft/base/ranges.h"
#include "weft/comm/tcp/meeting.h"
#include "weft/comm/transport/transport_def.h"

namespace weft {
namespace {

using tcp::Address;

int integer(const Options& options, std::string_view name) {
  return static_cast<int>(option<std::int64_t>(options, name));
}

std::optional<Refusal> tcp_declines(const Options& options) {
  const int ranks = integer(options, "ranks");
  const int rank = integer(options, "rank");
  if (rank >= ranks) {
    return Refusal{fmt::format("rank {} of {}", rank, ranks),
                   "ranks are counted from 0",
                   fmt::format("rank=0 to rank={}", ranks - 1)};
  }
  const auto& reached_at = option<std::string>(options, "reached_at");
  if (rank == 0 && (integer(options, "port") != 0 || !reached_at.empty())) {
    return Refusal{"port and reached_at at rank 0",
                   "it listens at `first`, which others may write as they "
                   "reach it",
                   "leave them out there"};
  }
  if (!reached_at.empty() && integer(options, "port") == 0) {
    return Refusal{"reached_at without port",
                   "what is passed on to this rank must come to a port that "
                   "is known beforehand",
                   "port=7071"};
  }
  const auto& first = option<std::string>(options, "first");
  if (Address::look_up(first).is_loopback() ||
      tcp::find_run_key(option<std::string>(options, "key"))) {
    return std::nullopt;
  }
  return Refusal{
      first, "without a key whoever reaches that address could join the run",
      fmt::format(
          "{}; then key=./run.key, or WEFT_KEY, at every rank. Without a "
          "key, ranks of one machine meet at 127.0.0.1",
          tcp::kMakeKey)};
}

std::unique_ptr<LocalRanks> open_tcp(const Options& options, const Say& say) {
  const Address first = Address::look_up(option<std::string>(options, "first"));
  const auto& reached_at = option<std::string>(options, "reached_at");
  const tcp::MeetingOptions meeting{
      .rank = integer(options, "rank"),
      .ranks = integer(options, "ranks"),
      .run = option<std::string>(options, "run"),
      .key = tcp::find_run_key(option<std::string>(options, "key")),
      .timeout = option<double>(options, "timeout"),
      .port = integer(options, "port"),
      .reached_at = reached_at.empty()
                        ? std::nullopt
                        : std::optional(Address::look_up(reached_at)),
      .sends_datagrams = option<bool>(options, "datagrams"),
      .datagram_times = {.silence = option<double>(options, "silence"),
                         .pause = option<double>(options, "pause")},
      .say = say};
  return one_rank(std::make_unique<tcp::TcpTransport>(
      meeting.rank == 0
          ? tcp::meet_as_first(tcp::Socket::listen(first), meeting)
          : tcp::meet_at(first, meeting)));
}

// Ranks that meet at a port of the system's choice, each a thread.
class TcpSample : public LocalRanks {
 public:
  explicit TcpSample(int size) : size_(size) {}
  int first() const override { return 0; }
  int count() const override { return size_; }
  int size() const override { return size_; }

  void run(const std::function<void(Transport&)>& body) override {
    auto door = tcp::Socket::listen(Address::of_numbers("127.0.0.1:0"));
    const Address first = door.here();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([&, rank] {
        const tcp::MeetingOptions meeting{
            .rank = rank,
            .ranks = size_,
            .key = tcp::RunKey("a key of tests, which all may know", "sample")};
        keep_failure([&] {
          tcp::TcpTransport transport(
              rank == 0 ? tcp::meet_as_first(std::move(door), meeting)
                        : tcp::meet_at(first, meeting));
          // Kept before the transport goes, which makes others fail.
          keep_failure([&] { body(transport); });
        });
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  // What fails first is the cause; the rest is what it leads to.
  template <class Action>
  void keep_failure(Action&& action) {
    try {
      action();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  int size_;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void register_transport_tcp(TransportRegistry& transports) {
  transports.add(
      {.name = "tcp",
       .summary = "ranks are processes that meet at an address",
       .trust =
           "Trusts whoever has the run's key (WEFT_KEY, or a file), and "
           "nobody else: ranks prove that they have it, and all that travels "
           "is encrypted. Without a key it takes addresses of the loopback "
           "interface alone, and trusts every user of the machine.",
       .options = {{.name = "first",
                    .value = std::string("127.0.0.1:7070"),
                    .summary = "where rank 0 listens and the others meet it"},
                   {.name = "rank",
                    .value = std::int64_t{0},
                    .summary = "of this process",
                    .range = {.least = 0, .most = 1023}},
                   {.name = "ranks",
                    .value = std::int64_t{2},
                    .summary = "of all processes",
                    .range = {.least = 1, .most = 1024}},
                   {.name = "key",
                    .value = std::string(),
                    .summary =
                        "a file that holds the run's key; empty: WEFT_KEY, if "
                        "it is set"},
                   {.name = "run",
                    .value = std::string(),
                    .summary =
                        "a name: ranks of runs with other names are declined"},
                   {.name = "timeout",
                    .value = 60.0,
                    .summary = "how long ranks wait for each other to come",
                    .range = {.least = 0, .is_open_below = true},
                    .unit = "seconds"},
                   {.name = "port",
                    .value = std::int64_t{0},
                    .summary = "at which a rank other than 0 listens; 0: one "
                               "that the system chooses",
                    .range = {.least = 0, .most = 65535}},
                   {.name = "reached_at",
                    .value = std::string(),
                    .summary = "where others reach that port: \"HOST:PORT\", "
                               "the outside of a NAT; empty: as rank 0 is "
                               "reached from here"},
                   {.name = "datagrams",
                    .value = false,
                    .summary = "whether messages that may arrive in part go "
                               "over UDP, at the ports of the same numbers"},
                   {.name = "silence",
                    .value = 10e-3,
                    .summary = "without a datagram of a message, after which "
                               "the rest of it is lost",
                    .range = {.least = 0, .is_open_below = true},
                    .unit = "seconds"},
                   {.name = "pause",
                    .value = 10e-6,
                    .summary = "between two datagrams of this rank: what comes "
                               "faster than it is read is lost",
                    .range = kNotNegative,
                    .unit = "seconds"}},
       .declines = tcp_declines,
       .open = open_tcp,
       .sample = [](int ranks) -> std::unique_ptr<LocalRanks> {
         return std::make_unique<TcpSample>(ranks);
       }});
}

}  // namespace weft
