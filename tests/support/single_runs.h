// Holds a batched function against single runs of the function it was made of.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "weft/batching/batch.h"
#include "weft/tensor/tensor.h"

namespace weft::testing {

// How often an op stands in a function.
std::size_t count_of(const Function& function, std::string_view op);

// Batches `function`, runs it on `arguments` (stacks [B, dims…] for batched
// parameters) and compares with B single runs, stacked or summed. `length` is
// as for expect_close().
void expect_equals_single_runs(const Function& function,
                               std::span<const bool> batched,
                               std::span<const BatchMode> modes,
                               const std::vector<Tensor>& arguments,
                               double length = 1);

}  // namespace weft::testing
