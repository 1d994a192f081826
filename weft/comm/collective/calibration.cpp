#include "weft/comm/collective/calibration.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "weft/base/file.h"
#include "weft/comm/codec/bytes.h"
#include "weft/comm/collective/rooted.h"

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

// A message goes around members[0], members[1], … and back: the least time of a
// hop, per size, for as long as kMostSeconds allow. On the first of them, which
// decides when it is enough and says so in the first byte of the message.
Task<std::vector<Timing>> pass_around(Channel channel,
                                      std::vector<int> members) {
  const Transport& transport = channel.transport();
  Bytes room(transport.carries_payload() ? kSizes.back() : 0);
  std::vector<Timing> timings;
  const auto place = std::find(members.begin(), members.end(), channel.rank());
  const auto next = place + 1 == members.end() ? members.begin() : place + 1;
  const auto before = (place == members.begin() ? members.end() : place) - 1;
  const bool is_first = place == members.begin();
  // What comes back is timed by one clock: those of two ranks need not agree.
  const double begin = transport.now();
  for (const std::size_t size : kSizes) {
    const std::span<std::byte> message{room.empty() ? nullptr : room.data(),
                                       size};
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kRepetitions; ++i) {
      const double start = transport.now();
      const bool is_last = start - begin > kMostSeconds;
      if (is_first && !room.empty()) room[0] = is_last ? kEnough : kMore;
      // The first one sends and then receives, all others the other way round,
      // so that one message goes around.
      for (const bool sends : {is_first, !is_first}) {
        Transfer transfer = sends ? channel.send(*next, message)
                                  : channel.receive(*before, message);
        co_await transfer;
      }
      // Whatever else the machine does can only make it slower.
      least = std::min(least, (transport.now() - start) /
                                  static_cast<double>(members.size()));
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

// `channel` has the order of the placement.
Task<Topology> measure(Channel channel, Placement placement) {
  const int ranks = channel.size();
  struct Group {
    int size;
    int stride;  // between its ranks
  };
  std::vector<Group> groups;
  if (!placement.flat_because.empty()) {
    groups.push_back({ranks, 1});
  } else {
    if (placement.ranks_per_host > 1) {
      groups.push_back({placement.ranks_per_host, 1});
    }
    if (placement.hosts > 1) {
      groups.push_back({placement.hosts, placement.ranks_per_host});
    }
  }
  Topology measured;
  for (const Group& group : groups) {
    // One group of each kind is measured, for all that are like it; the other
    // ranks wait at the broadcast and leave the network alone.
    if (channel.rank() % group.stride != 0 ||
        channel.rank() / group.stride >= group.size) {
      continue;
    }
    std::vector<int> members;
    for (int i = 0; i < group.size; ++i) members.push_back(i * group.stride);
    const std::vector<Timing> timings =
        co_await pass_around(channel, std::move(members));
    measured.levels.push_back(fit_level(group.size, timings));
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
  // Hosts stand in the order of their first ranks.
  std::vector<std::string> names;
  std::map<std::string, std::vector<int>> ranks;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (ranks[hosts[i]].empty()) names.push_back(hosts[i]);
    ranks[hosts[i]].push_back(static_cast<int>(i));
  }
  Placement placement;
  placement.hosts = static_cast<int>(names.size());
  placement.ranks_per_host = static_cast<int>(ranks[names.front()].size());
  for (const std::string& name : names) {
    const auto& here = ranks[name];
    placement.order.insert(placement.order.end(), here.begin(), here.end());
    if (static_cast<int>(here.size()) != placement.ranks_per_host) {
      placement.flat_because =
          fmt::format("host {} has {} ranks and host {} has {}", names.front(),
                      placement.ranks_per_host, name, here.size());
    }
  }
  return placement;
}

Placement placement_of(const Communicator& communicator) {
  std::vector<std::string> hosts;
  for (const int member : communicator.members()) {
    hosts.push_back(communicator.transport().host(member));
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

Task<Topology> calibrate(Communicator& communicator, Placement placement) {
  WEFT_CHECK(placement.order.size() ==
             static_cast<std::size_t>(communicator.size()));
  const Channel channel = communicator.open({"calibrate", ""});
  if (communicator.size() == 1) return alone();
  return measure(channel.among(placement.order), placement);
}

void write_topology(const std::string& path, const Topology& topology) {
  write_file(path, to_string(topology) + "\n");
}

Topology read_topology(const std::string& path) {
  std::string text = read_text(path, std::size_t{1} << 16);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return parse_topology(text);
}

}  // namespace weft
