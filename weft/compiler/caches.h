// What of memory the processor's caches hold, for who measures a step that
// finds its operands in memory, or in a cache.
//
// Threads: safe from any; caches are the machine's.
#pragma once

#include "weft/tensor/tensor.h"

namespace weft {

// Reads a tensor into the caches.
void touch(const Tensor& tensor);

// Whether the processor can be told what to put out of its caches: x86-64 ones
// can, from Skylake and Zen on.
bool can_evict();
// Puts a tensor out of all caches, in less time than it takes to read it from
// memory. To be called only where can_evict().
void evict(const Tensor& tensor);

// Puts everything out of all caches, by reading twice as much as they hold. It
// keeps as much memory from the first call on; on a server with a cache of some
// hundred MiB a call takes a tenth of a second.
void sweep_caches();

}  // namespace weft
