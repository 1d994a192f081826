// Labels that stand beside the points: in the recipe's data, or in a column
// `label` of the table.
#include "weft/gate/labels.h"

namespace weft {

void register_label_source_data(LabelSourceRegistry& sources) {
  sources.add({.name = "data",
               .summary = "they stand beside the points",
               .make = nullptr});
}

}  // namespace weft
