// The instances for real memory, compiled once.
#include "weft/concurrent/stm/stm.h"

#include "weft/concurrent/stm/transaction.h"

namespace weft::concurrent {

template std::unique_ptr<Clock<>> make_clock<RealMemory>(ClockKind,
                                                         std::uint32_t,
                                                         std::uint64_t);
template class Stm<RealMemory>;
template class Transaction<RealMemory>;

}  // namespace weft::concurrent
