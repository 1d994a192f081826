// Parameters cut into slices, so that what is urgent waits for a slice and not
// for the whole of what goes before it (Jayarajan et al., "Priority-based
// Parameter Propagation for Distributed DNN Training", MLSys 2019, section 4).
//
// Whatever exchanges parameters sees slices as parameters:
// "fc.weight[0:40000]", a row of values. Checkpoints hold whole ones, so that
// any other run reads them.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/files/safetensors.h"

namespace weft {

// Part of a parameter, as a view of its memory.
struct Slice {
  std::size_t parameter = 0;
  std::int64_t begin = 0;  // its first value there
  NamedTensor values;
};

// Each parameter of more than `most_bytes` in slices of so many, whole cache
// lines all but the last; 0, or one that is not larger: as it is. Slices of one
// parameter stand last to first, as parameters do in buckets.
std::vector<Slice> cut_into_slices(std::span<const NamedTensor> parameters,
                                   std::int64_t most_bytes);

// Puts "X.NAME[0:8]", "X.NAME[8:12]" together to "X.NAME", with the shape of
// the parameter, among tensors that belong to parameters.
std::vector<NamedTensor> join_slices(std::vector<NamedTensor> tensors,
                                     std::span<const NamedTensor> parameters);

// Reads a slice from where whole tensors are found by name. Undefined if there
// is neither.
Tensor read_slice(const std::string& name,
                  const std::function<Tensor(const std::string&)>& read);

}  // namespace weft
