#include "weft/comm/graph/network_collectives.h"

#include <fmt/ranges.h>

namespace weft {
namespace {

DenseBuffer buffer_of(const TensorView& view) {
  return {view.dtype(), view.as<std::byte>(),
          static_cast<std::size_t>(view.size())};
}

// All ranks cut alike, by the buffer's length and their number alone.
Parts parts_of(const Channel& channel, const DenseBuffer& buffer) {
  return Parts::near_equal(buffer.all(), channel.size());
}

Task<> scatter(ScatterMethod method, Channel channel, DenseBuffer buffer) {
  return reduce_scatter(method, channel, buffer, parts_of(channel, buffer));
}

Task<> gather(ScatterMethod method, Channel channel, DenseBuffer buffer) {
  return all_gather(method, channel, buffer, parts_of(channel, buffer));
}

// Both halves run in one operation: messages between two ranks keep their
// order, so the second needs no tag of its own.
Task<> sum(ScatterMethod method, Channel channel, DenseBuffer buffer) {
  co_await scatter(method, channel, buffer);
  co_await gather(method, channel, buffer);
}

}  // namespace

Channel NetworkCollectives::open(std::string_view operation,
                                 const TensorView& whole,
                                 const RankGroups& groups) {
  // All ranks enter one operation, whatever their group: it names all groups,
  // so that ranks which disagree about them find out.
  const auto group = groups.group_of(rank());
  const std::vector<int> members(group.begin(), group.end());
  return communicator_
      .open({fmt::format("{} by {} among [{}]", operation, groups.size,
                         fmt::join(groups.ranks, ", ")),
             to_string(whole.type)})
      .among(members);
}

void NetworkCollectives::all_reduce(const TensorView& whole,
                                    const RankGroups& groups) {
  engine_.run(
      sum(method_, open("all_reduce", whole, groups), buffer_of(whole)));
}

void NetworkCollectives::reduce_scatter(const TensorView& whole,
                                        const RankGroups& groups) {
  engine_.run(scatter(method_, open("reduce_scatter", whole, groups),
                      buffer_of(whole)));
}

void NetworkCollectives::all_gather(const TensorView& whole,
                                    const RankGroups& groups) {
  engine_.run(
      gather(method_, open("all_gather", whole, groups), buffer_of(whole)));
}

}  // namespace weft
