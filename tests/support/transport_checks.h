// What every transport must do, by four ranks: a check throws an Error where
// one does not. Each rank calls it, on a thread or in a process of its own.
#pragma once

#include <vector>

#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/engine.h"

namespace weft::test {

void expect(bool condition, const char* what);

// The whole of a message, of at most as many values as there are.
Task<> hear(Channel channel, int from, std::vector<int>& values);
Task<> tell(Channel channel, int to, std::vector<int> values);

// Small and large messages, many in flight, waited for in another order on each
// rank.
void check_sums(Transport& transport);
void check_groups(Transport& transport);
// A shorter message than its room, and one to oneself.
void check_own_messages(Transport& transport);
// Messages that may arrive in part, of many sizes, from each rank to each, and
// to itself.
void check_lossy_messages(Transport& transport);
// Small messages and large ones, which may take different ways, and come before
// anybody waits for them.
void check_order(Transport& transport);
// A thread for the network.
void check_async(Transport& transport);

// These fail, on all ranks or the one that the name says, with a reason.
void check_truncation(Transport& transport);
void check_mismatch(Transport& transport);
void check_failure(Transport& transport);

}  // namespace weft::test
