#include "weft/comm/collective/power_of_two.h"

namespace weft {

namespace {

Task<> on_folded(Channel channel, DenseBuffer buffer, PowerOfTwoTask inner) {
  const PowerOfTwo shape(channel.size());
  const int rank = channel.rank();
  // Neighbours pair up, as they are likely to share a machine.
  const int partner = rank < 2 * shape.folded ? rank ^ 1 : -1;
  const bool takes_part = shape.position_of(rank) >= 0;
  if (!takes_part) {
    // Its partner adds for it, so it sits out and gets the sum at the end.
    Transfers transfers(channel);
    send_part(transfers, partner, buffer, buffer.all());
    co_await transfers.all();
    Transfers result(channel);
    receive_part(result, partner, buffer, buffer.all());
    co_await result.all();
    co_return;
  }
  if (partner >= 0) {
    AddStream stream;
    stream.from = partner;
    stream.parts = {buffer.all()};
    co_await receive_and_add(channel, buffer, std::move(stream));
  }
  co_await inner(channel, shape, buffer);
  if (partner >= 0) {
    Transfers result(channel);
    send_part(result, partner, buffer, buffer.all());
    co_await result.all();
  }
}

}  // namespace

Task<> on_power_of_two(Channel channel, DenseBuffer buffer,
                       PowerOfTwoTask inner) {
  const PowerOfTwo shape(channel.size());
  if (shape.folded == 0) return inner(std::move(channel), shape, buffer);
  return on_folded(std::move(channel), buffer, std::move(inner));
}

}  // namespace weft
