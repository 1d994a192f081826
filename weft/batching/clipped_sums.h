// The gradients of many instances, each clipped to a norm by itself and then
// added up: what differentially private training needs (Abadi et al., "Deep
// Learning with Differential Privacy", CCS 2016).
//
// No instance's gradients are kept where that can be helped. A linear layer's
// are a product of what went into it with what flowed back, Gᵢ = Aᵢᵀ Dᵢ, whose
// norm follows from the factors,
//   ‖Gᵢ‖² = Σ (Aᵢ Aᵢᵀ) ∘ (Dᵢ Dᵢᵀ)
// (Goodfellow, "Efficient Per-Example Gradient Computations", 2015; for
// sequences Li et al., "Large Language Models Can Be Strong Differentially
// Private Learners", ICLR 2022), and the clipped sum is one product, of the
// factors of all instances with each Dᵢ scaled. So a step runs the model once
// forward and once backward, and no gradient is computed twice but those whose
// norm is cheaper to take from themselves. What rounding may take of a norm
// whose terms cancel is added to it: it is never too small.
//
// Threads: as FunctionBuilder.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/program.h"

namespace weft {

struct ClippedSums {
  std::vector<Value> sums;    // of each gradient: [dims…]
  std::vector<Value> others;  // the other results: [B, dims…]
  // f32[B]: of an instance's gradients all together, before they were clipped.
  Value norms;
};

// `function` is what one instance computes; its last `gradients` results are
// gradients, in floats. Each of its parameters is given by `arguments`: where
// `is_batched` holds a value [B, dims…], else one that all instances share.
// Within build() of `builder`, adds to it
//   sumₖ = Σᵢ weightᵢ min(1, norm / ‖gradients of i‖) gradientₖ of i
// for `weights` f32[B].
//
// Throws Error(kUnsupported) naming an op that cannot be batched.
ClippedSums clipped_sums(FunctionBuilder& builder, const Function& function,
                         std::span<const Value> arguments,
                         const std::vector<bool>& is_batched,
                         std::size_t gradients, double norm,
                         const Value& weights);

// The same for a function of `program` that branches, loops, calls or recurs
// (control.h), within build() of one of its builders. Every instance's
// gradients are kept, [B, dims…], as what a loop adds up is no product. Those
// of weight 0 are not run.
ClippedSums clipped_control_sums(Program& program, const FunctionRef& function,
                                 std::span<const Value> arguments,
                                 const std::vector<bool>& is_batched,
                                 std::size_t gradients, double norm,
                                 const Value& weights);

}  // namespace weft
