// Any data set of the readers (weft/data), example by example: what a model
// would be given, before batches and augmentation.
#pragma once

#include "weft/data/dataset.h"
#include "weft/validation/row_source.h"

namespace weft::validation {

// A row has a list of numbers for each feature, nested as its axes are; of a
// feature without axes, one. `dataset` is kept alive.
std::unique_ptr<RowSource> rows_of(DatasetRef dataset);

}  // namespace weft::validation
