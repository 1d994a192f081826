// How many bytes of its operands and results a step reads and writes.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include "weft/compiler/steps.h"

namespace weft {

// The input into which a step puts a slice, if that is how it makes an output.
// Plans leave it where it lies, as long as nothing reads it afterwards.
std::optional<std::size_t> updated_input(const Function& function,
                                         const PlanStep& step,
                                         std::size_t output);

// How much of an input a step reads, and of an output it writes: less than 1
// for a loop that reads some columns, and where a slice is put into a value,
// which stays where it lies.
double part_read(const Function& function, const PlanStep& step,
                 std::size_t input);
double part_written(const Function& function, const PlanStep& step,
                    std::size_t output);

// What enters and leaves a step through memory, in bytes. Counting every op of
// a fused one would make fusion look useless.
double moved_bytes(const Function& function, const PlanStep& step);

}  // namespace weft
