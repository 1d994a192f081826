#include "weft/comm/collective/calibration.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "weft/base/file.h"
#include "weft/comm/codec/bytes.h"
#include "weft/comm/collective/rooted.h"
#include "weft/comm/collective/steady_rate.h"

namespace weft {
namespace {

// The smallest show the latency, the largest the rate.
constexpr std::array<std::size_t, 8> kSizes = {8,     256,    2048,    16384,
                                               65536, 262144, 1048576, 4194304};
constexpr int kRepetitions = 10;    // the fastest counts
constexpr double kMostSeconds = 1;  // on a slow network
constexpr std::byte kMore{1};
constexpr std::byte kEnough{2};
constexpr std::size_t kTextBytes = 256;

// A message goes around the circle: the least time of a hop, per size, for as
// long as kMostSeconds allow. On the first of them, which decides when it is
// enough and says so in the first byte of the message.
Task<std::vector<Timing>> pass_around(Channel channel, Circle circle) {
  const Transport& transport = channel.transport();
  const int next = circle.behind(channel.rank(), 1);
  const int before = circle.behind(channel.rank(), -1);
  const bool is_first = channel.rank() == 0;
  Bytes room;
  std::vector<Timing> timings;
  // What comes back is timed by one clock: those of two ranks need not agree.
  const double begin = transport.now();
  for (const std::size_t size : kSizes) {
    // Room is taken as sizes grow: where ranks are many, and most of them in
    // this process, time is up before the large ones.
    if (transport.carries_payload()) room.resize(size);
    const std::span<std::byte> message{room.empty() ? nullptr : room.data(),
                                       size};
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kRepetitions; ++i) {
      const double start = transport.now();
      // A line takes two points, however long the first one took.
      const bool is_last = start - begin > kMostSeconds && !timings.empty();
      if (is_first && !room.empty()) room[0] = is_last ? kEnough : kMore;
      // The first one sends and then receives, all others the other way round,
      // so that one message goes around.
      for (const bool sends : {is_first, !is_first}) {
        Transfer transfer = sends ? channel.send(next, message)
                                  : channel.receive(before, message);
        co_await transfer;
      }
      // Whatever else the machine does can only make it slower.
      least = std::min(least, (transport.now() - start) / circle.size);
      // All ranks see the byte in the same round, so all stop together.
      if (!room.empty() && room[0] == kEnough) {
        timings.push_back({static_cast<double>(size), least});
        co_return timings;
      }
    }
    timings.push_back({static_cast<double>(size), least});
  }
  co_return timings;
}

// A segment that goes around soon enough, and shows the rate rather than the
// latency; 0: none does.
std::size_t segment_of(Circle circle, std::span<const Timing> timings) {
  constexpr double kSoon = kMostSeconds / 4;
  constexpr std::size_t kLeast = 2048;
  constexpr std::size_t kMost = 262144;
  std::size_t segment = 0;
  for (const auto& [bytes, seconds] : timings) {
    const auto size = static_cast<std::size_t>(bytes);
    if (size < kLeast || size > kMost) continue;
    if (seconds * std::max(circle.size, 16) <= kSoon) segment = size;
  }
  return segment;
}

// Single messages may pass in a burst. Where cards between hosts do not keep
// that rate, it is what they keep that counts.
Task<Level> kept_level(Channel channel, Circle circle,
                       std::vector<Timing> timings) {
  constexpr double kMuchSlower = 1.25;
  Level level = fit_level(circle.size, timings);
  // Sizes without bytes say nothing of when it is enough.
  if (!channel.transport().carries_payload()) co_return level;
  const double kept = co_await steady_seconds_per_byte(
      channel, circle, segment_of(circle, timings), kMostSeconds);
  if (kept > kMuchSlower * level.seconds_per_byte) {
    level.seconds_per_byte = kept;
    level.latency = timings.front().seconds;
  }
  co_return level;
}

// What is measured: one circle of each kind, for all that are like it.
std::vector<Circle> circles_of(const Placement& placement, int ranks) {
  if (!placement.flat_because.empty()) return {{ranks, 1}};
  std::vector<Circle> circles;
  if (placement.ranks_per_host > 1) {
    circles.push_back({placement.ranks_per_host, 1});
  }
  if (placement.hosts > 1) {
    circles.push_back({placement.hosts, placement.ranks_per_host});
  }
  return circles;
}

// `channel` has the order of the placement.
Task<Topology> measure(Channel channel, std::vector<Circle> circles) {
  Topology measured;
  for (const Circle& circle : circles) {
    // The other ranks wait at the broadcast and leave the network alone.
    if (!circle.has(channel.rank())) continue;
    std::vector<Timing> timings = co_await pass_around(channel, circle);
    const bool is_of_one_host = &circle != &circles.back();
    Level level = fit_level(circle.size, timings);
    if (!is_of_one_host) {
      level = co_await kept_level(channel, circle, std::move(timings));
    }
    measured.levels.push_back(level);
  }
  // It travels as text, which all then read alike.
  std::string text = channel.rank() == 0 ? to_string(measured) : "";
  // A broadcast needs a size that all ranks know before.
  WEFT_CHECK(text.size() < kTextBytes);
  text.resize(kTextBytes);
  const DenseBuffer buffer{
      DType::kU8, std::as_writable_bytes(std::span(text)).data(), text.size()};
  co_await broadcast(RootedMethod::kTree, channel, buffer, 0);
  co_return parse_topology(text.c_str());
}

Task<Topology> alone() { co_return Topology{{Level{}}}; }

}  // namespace

Placement placement_of(std::span<const std::string> hosts) {
  // Hosts are numbered in the order of their first ranks.
  std::unordered_map<std::string_view, std::size_t> numbers;
  numbers.reserve(hosts.size());
  std::vector<std::string_view> names;
  std::vector<int> ranks;            // of each host
  std::vector<std::size_t> host_of;  // each rank
  for (const std::string& host : hosts) {
    const auto [found, is_new] = numbers.try_emplace(host, names.size());
    if (is_new) {
      names.push_back(host);
      ranks.push_back(0);
    }
    host_of.push_back(found->second);
    ++ranks[found->second];
  }
  Placement placement;
  placement.hosts = static_cast<int>(names.size());
  placement.ranks_per_host = ranks.front();
  std::vector<int> order(hosts.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int rank) {
    return host_of[static_cast<std::size_t>(rank)];
  });
  placement.order = Ranks(std::move(order));
  for (std::size_t host = 0; host < names.size(); ++host) {
    if (ranks[host] == placement.ranks_per_host) continue;
    placement.flat_because =
        fmt::format("host {} has {} ranks and host {} has {}", names.front(),
                    placement.ranks_per_host, names[host], ranks[host]);
  }
  return placement;
}

Placement placement_of(const Communicator& communicator) {
  std::vector<std::string> hosts;
  for (int i = 0; i < communicator.size(); ++i) {
    hosts.push_back(communicator.transport().host(communicator.members()[i]));
  }
  return placement_of(hosts);
}

Level fit_level(int size, std::span<const Timing> timings) {
  // Least squares of (latency + bytes * rate - seconds) / seconds.
  double ones = 0;
  double ones_bytes = 0;
  double bytes_bytes = 0;
  double right_ones = 0;
  double right_bytes = 0;
  // Errors are relative, or the largest messages alone would decide, and their
  // seconds hide any latency.
  for (const Timing& timing : timings) {
    // A simulated network may take no time at all.
    const double one = 1 / std::max(timing.seconds, 1e-12);
    const double bytes = timing.bytes * one;
    ones += one * one;
    ones_bytes += one * bytes;
    bytes_bytes += bytes * bytes;
    right_ones += one;
    right_bytes += bytes;
  }
  const double determinant = ones * bytes_bytes - ones_bytes * ones_bytes;
  double latency =
      (right_ones * bytes_bytes - right_bytes * ones_bytes) / determinant;
  double per_byte =
      (ones * right_bytes - ones_bytes * right_ones) / determinant;
  // Neither is negative: the other then fits alone.
  if (latency < 0) {
    latency = 0;
    per_byte = right_bytes / bytes_bytes;
  } else if (per_byte < 0) {
    latency = right_ones / ones;
    per_byte = 0;
  }
  return {size, latency, per_byte};
}

Task<Topology> calibrate(Communicator& communicator,
                         const Placement& placement) {
  WEFT_CHECK(placement.order.size() == communicator.size());
  const Channel channel = communicator.open({"calibrate", ""});
  if (communicator.size() == 1) return alone();
  return measure(channel.among(placement.order.list()),
                 circles_of(placement, communicator.size()));
}

Topology read_topology(const std::string& path) {
  std::string text = read_text(path, std::size_t{1} << 16);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return parse_topology(text);
}

}  // namespace weft
