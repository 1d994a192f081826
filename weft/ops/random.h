// Random tensors by Philox (base/philox.h). A key is i64[2]: (seed, step).
// Element i of the result is a function of key, `stream` and i, so a program
// draws the same numbers eagerly, staged, resumed and on any thread count.
// Where `keys` is taken, i64[…, 2] holds many: each draws `shape` as it would
// alone, and the result has the keys' other axes before those of `shape`.
//
// Throws Error(kInvalidArgument) for another type of key, a dtype that is not
// floating, and a probability outside of [0, 1].
#pragma once

#include "weft/graph/context.h"

namespace weft {

// Uniform in [0, 1).
Value uniform(const Operand& keys, const Shape& shape, std::int64_t stream,
              DType dtype = DType::kF32);
// Standard normal.
Value normal(const Operand& keys, const Shape& shape, std::int64_t stream,
             DType dtype = DType::kF32);
// Draws true with the given probability; bool.
Value bernoulli(const Operand& keys, const Shape& shape, std::int64_t stream,
                double probability);
// A permutation of 0 … size-1 as i64 (base/permutation.h).
Value permutation(const Operand& keys, Dim size, std::int64_t stream);
// Zeroes elements with probability `rate` and scales the rest by 1/(1-rate)
// (Srivastava et al., 2014). x is floating; 0 <= rate < 1.
Value dropout(const Operand& x, const Operand& key, std::int64_t stream,
              double rate);

// Standard Gumbel: -log(-log(u)) of uniform numbers.
Value gumbel(const Operand& keys, const Shape& shape, std::int64_t stream,
             DType dtype = DType::kF32);
// A class for each row of the last axis, drawn with the probability
// softmax(logits); i64, without the last axis. It is the largest of logits +
// gumbel (Gumbel, 1954), so that nothing is summed up.
Value categorical(const Operand& key, const Operand& logits,
                  std::int64_t stream);
// Integers in [low, high), all as probable.
Value randint(const Operand& keys, const Shape& shape, std::int64_t stream,
              std::int64_t low, std::int64_t high, DType dtype = DType::kI64);
// i64[…, count, 2]: keys of their own, step 0 each, that follow from each key.
// What is drawn with them has nothing to do with what is drawn with that key.
Value split_key(const Operand& keys, std::int64_t count);

}  // namespace weft
