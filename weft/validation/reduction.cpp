#include "weft/validation/reduction.h"

namespace weft::validation {
namespace {

// Nobody sends more: a count that is damaged must not ask for all memory.
constexpr std::uint64_t kMostStateBytes = std::uint64_t{4} << 30;

Task<> send_state(Channel channel, int to, const Statistics& statistics) {
  const std::string state = statistics.to_bytes();
  const std::uint64_t size = state.size();
  co_await channel.send(to, std::as_bytes(std::span(&size, 1)));
  co_await channel.send(to, std::as_bytes(std::span(state)));
}

Task<Statistics> receive_state(Channel channel, int from) {
  std::uint64_t size = 0;
  co_await channel.receive(from, std::as_writable_bytes(std::span(&size, 1)));
  if (size > kMostStateBytes) {
    throw Error(ErrorCode::kDataLoss, "statistics",
                "rank {} sends {} bytes of them", from, size);
  }
  std::string state(size, '\0');
  co_await channel.receive(from, std::as_writable_bytes(std::span(state)));
  co_return Statistics::from_bytes(state, fmt::format("rank {}", from));
}

}  // namespace

Task<> reduce_statistics(Channel channel, Statistics& own) {
  const int rank = channel.rank();
  const int size = channel.size();
  // Ranks whose number has the bit send to the one that has it not; the order
  // in which rank 0 adds up is that of the tree, whoever is first.
  int step = 1;
  for (; step < size; step *= 2) {
    if ((rank & step) != 0) {
      co_await send_state(channel, rank - step, own);
      break;
    }
    if (rank + step < size) {
      const Statistics other = co_await receive_state(channel, rank + step);
      own.merge(other);
    }
  }
  // The way back: from whom this rank has sent to, to those it has heard of.
  if (rank != 0) own = co_await receive_state(channel, rank - step);
  for (step /= 2; step >= 1; step /= 2) {
    if (rank + step < size) co_await send_state(channel, rank + step, own);
  }
}

}  // namespace weft::validation
