// What is known of data, as JSON and back: so that a trained model can be used
// where its data are not (train/model_in_use.h).
//
// Threads: pure functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/data/dataset.h"

namespace weft {

// One line:
//   {"format": 1, "name": "digits",
//    "features": [{"name": "image", "dtype": "u8", "dims": [8, 8, 1],
//                  "varying": []}, …],
//    "classes": ["0", …], "words": [],
//    "pixel_scale": {"mean": [0], "std": [255]},
//    "target_scale": {"mean": 0, "std": 1}, "category_counts": [],
//    "lanes": 0, "table": null}
// where "table" of rows is {"columns": […], "others": […], "labels": […]},
// each column as TableColumn has it.
std::string to_json(const DataDescription& data);

// Throws Error(kDataLoss) naming `where` for what is no such text, or describes
// nothing that could be read: sizes below 1, scales that do not fit.
std::unique_ptr<const DataDescription> parse_description(
    std::string_view text, std::string_view where);

}  // namespace weft
