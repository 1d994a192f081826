// Prints the steps of a plan: what runs, by which kernel, how fast, and why
// other kernels declined.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/runtime/executable.h"

namespace weft::cli {

// Runs the plan a few times on `arguments` into `results` to time its steps.
void print_plan(Plan& plan, std::span<const Tensor> arguments,
                std::span<const Tensor> results);

// Zeros for the parameters of a function, with `batch` (or 1) for each free
// dim.
std::vector<Tensor> zero_arguments(const Function& function,
                                   std::int64_t batch);

// The same for a function on zeros, with `batch` (or 1) for each free dim, and
// without these passes (compiler/pass.h).
void print_plan(const Function& function, std::int64_t batch,
                const std::vector<std::string>& without);

}  // namespace weft::cli
