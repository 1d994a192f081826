// What a trained model rests on in its data, beside its own weights: the order
// of classes, the numbers of words, scales, how columns are read. A checkpoint
// takes these from the data at hand, so it keeps marks of those that it was
// trained on: with others its predictions would be wrong without a word.
//
// Threads: pure functions.
// Cost:    linear in the names and words of the data.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/data/dataset.h"

namespace weft {

// A checksum of each part of a description, by the key that it has in to_json()
// (description_text.h). Numbers count to six digits, as another processor may
// round their sums otherwise.
using DescriptionMarks = std::map<std::string, std::string>;
DescriptionMarks marks_of(const DataDescription& data);

// The keys that are in both and differ.
std::vector<std::string> differing(const DescriptionMarks& a,
                                   const DescriptionMarks& b);

// Throws Error(kInvalidArgument) that names `where`, the data and what differs,
// unless `data` have these marks. No marks, as in checkpoints of before, are
// all marks.
void check_marks(const DescriptionMarks& marks, const DataDescription& data,
                 std::string_view where);

}  // namespace weft
