// The sum of the gradients of a batch's examples, each clipped by itself, from
// a function of one example: what private steps have in common, those of a
// recipe (private_objective.h) and those of a program
// (train/private_optimizer.h).
//
// Threads: as FunctionBuilder.
#pragma once

#include <vector>

#include "weft/batching/clipped_sums.h"
#include "weft/graph/program.h"

namespace weft {

// A batch, as values of the function that is being built.
struct PrivateBatch {
  std::vector<Value> shared;   // what all examples have in common
  Value key;                   // i64[2], that examples draw by
  std::vector<Value> tensors;  // [N, dims…]
  // f64[2]: how many of the N count, and the place of the first of them in the
  // batch of all workers.
  Value present;
};

struct ExampleSums {
  ClippedSums clipped;
  Value weights;  // f32[N]: 1 for examples that count, else 0

  // i64[]: the place of the first that counts and whose gradients have no
  // finite norm; -1 where there is none. Its gradients cannot be clipped, and
  // what is made of the sums says nothing.
  Value broken() const;
  // Another result of the function, summed over the examples that count.
  Value total(std::size_t other) const;
};

// The error of a batch whose example at this place, from 0, is broken.
Error broken_example(std::int64_t place);

// The type of a tensor of one example: a batch of one.
TensorType of_one(const TensorType& batch);

// `example` takes what is shared, a key and the tensors of a batch of one; its
// last `gradients` results are gradients. Within build() of a builder of
// `program`. Throws Error(kUnsupported) naming an op that cannot be computed
// for many examples at once, and apart.
ExampleSums example_sums(Program& program, const Function& example,
                         const PrivateBatch& batch, std::size_t gradients,
                         double clip_norm);

}  // namespace weft
