// Texts read as characters, each a word of one byte, for language models.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "weft/data/registry.h"

namespace weft {

// The last tenth of `text` is held out, half of it to choose by and half to
// test with. Characters are numbered by the training part alone; where others
// occur behind it, they are one more word, "<unk>". Throws Error(kDataLoss)
// naming `where` for a text that is too short for request.batch streams of
// request.steps characters.
DatasetSplits character_splits(std::string_view text, const std::string& where,
                               const DataRequest& request);

}  // namespace weft
