// Transactions, with all their parts. stm.h explains the whole; sessions
// (session.h) begin transactions and repeat them.
//
// Threads: that of its session.
#pragma once

#include "weft/concurrent/memory.h"
#include "weft/concurrent/stm/transaction_class.h"
#include "weft/concurrent/stm/transaction_commit.h"
#include "weft/concurrent/stm/transaction_conflicts.h"
#include "weft/concurrent/stm/transaction_hardware.h"

namespace weft::concurrent {

extern template class Transaction<RealMemory>;

}  // namespace weft::concurrent
