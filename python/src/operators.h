// Ops of the registry, called from Python.
//
// Threads: with the GIL, which is released while an op runs.
#pragma once

#include <span>
#include <string_view>

#include "python/src/bind.h"
#include "python/src/convert.h"

#include "weft/graph/context.h"
#include "weft/graph/op.h"

namespace weft::python {

// Runs or records ops: `run` is given the Python line that it stands for.
template <class Run>
auto run_ops(Run&& run) {
  // The line is for graphs alone, as looking it up walks the frames.
  if (current_context().builder() != nullptr) return run(python_location());
  // A kernel may take long, and may wait for threads that want the GIL.
  const py::gil_scoped_release nogil;
  return run(Location());
}

// Runs or records the op.
std::vector<Value> run_op(const OpDef& op, std::span<const Value> operands,
                          const Attributes& attributes = {});
Value run_op_one(std::string_view op, std::span<const Value> operands,
                 const Attributes& attributes = {});

// Operands of one op: numbers become tensors of the dtype that the first
// tensor has that is not bool; without one, of the widest kind among them.
// Where a fraction meets integers, these become f32, as numbers of Python do.
// Throws Error(kInvalidArgument) for a number that the dtype cannot hold.
std::vector<Value> operands_from(std::span<const py::handle> objects);
// The same for an op that computes with both of two operands: a bool beside
// something else is 0 or 1 of its dtype, as in NumPy.
std::vector<Value> pair_from(std::span<const py::handle> objects);

// One result comes alone, several as a tuple.
py::object from_results(std::vector<Value> results);

}  // namespace weft::python
