// The loops of each format (sequence_loop.h), for find_sequence().
//
// Threads: pure functions.
#pragma once

#include "weft/kernels/recurrent/sequence.h"

namespace weft::recurrent {

SequenceFunction find_sequence_f32(const SequenceShape& shape,
                                   const LoopParameters& parameters);
SequenceFunction find_sequence_bf16(const SequenceShape& shape,
                                    const LoopParameters& parameters);
SequenceFunction find_sequence_i8(const SequenceShape& shape,
                                  const LoopParameters& parameters);

}  // namespace weft::recurrent
