// Messages that arrive whole although the way loses parts of them: they are
// sent as messages that may arrive in part, their receiver says what is
// missing, and that is sent again until nothing is.
//
// TCP does as much, and slows down with each loss as if that were congestion:
// by 10 % of segments Reno carries a thirtieth of a link. This goes as fast as
// datagrams do, and knows no congestion either. What is missing is sent twice
// in the second round and three times from the third on, so that few rounds are
// needed: each ends with the silence that tells its receiver what is lost.
//
// Threads: the task's.
// Errors:  those of transfers; Error(kDataLoss) for an answer that is none.
// Cost:    where nothing is lost, one answer of a bit for each part.
#pragma once

#include <span>

#include "weft/comm/transport/communicator.h"

namespace weft {

// Both sides know the size. `bytes` must live until it is over, which is when
// all of it has come. Needs a transport that carries payload.
Task<> send_until_whole(Channel channel, int to,
                        std::span<const std::byte> bytes);
Task<> receive_until_whole(Channel channel, int from,
                           std::span<std::byte> room);

}  // namespace weft
