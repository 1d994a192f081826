// How much of batch norm in training is fused with the convolutions around it
// (Jung et al., "Restructuring batch normalization to accelerate CNN training",
// MLSys 2019). Each form does what the one before it does, and more; all
// compute the same, up to rounding.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

enum class BatchNormForm {
  kAuto,  // as kIcf, where by a model of caches and memory it pays
  kNone,  // mean, variance, normalisation and ReLU are a pass each
  kRcf,   // the ReLU is joined to the normalisation before it
  kMvf,   // mean and variance take one pass
  kBnff,  // statistics are taken, and values normalised, chunk by chunk beside
          // the convolutions (compiler/chunks.h)
  kIcf,   // statistics of a concatenation are those of its parts, gradients of
          // several concatenations are added up before they are cut, and those
          // that begin alike are columns of the longest
};

// "auto", "none", "rcf", "mvf", "bnff", "icf"; in the order above.
const std::vector<std::string>& batch_norm_form_names();
std::string_view to_string(BatchNormForm form);
// Throws Error(kInvalidArgument) for another name.
BatchNormForm batch_norm_form(std::string_view name);

// The function with batch norm written out as far as a form separates it.
Function in_form(const Function& function, BatchNormForm form);
// The passes that a form leaves out, beside those in `without`.
std::vector<std::string> passes_without(std::vector<std::string> without,
                                        BatchNormForm form);

}  // namespace weft
