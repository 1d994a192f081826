// What orders have in common that are kept to on every network.
//
// Threads: a pure function.
#pragma once

#include "weft/train/sync/order.h"

namespace weft {

// Lets a few buckets be under way, where the policy can hold back others: what
// was handed to the network is in no order that anybody can change. One alone
// would leave the wire idle while its ends wait for each other.
void bound_what_is_under_way(const Options& options, SyncRecipe& recipe);

}  // namespace weft
