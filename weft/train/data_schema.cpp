#include "weft/train/data_schema.h"

#include "weft/validation/required.h"

namespace weft {

void check_schema(const DataRecipe& data) {
  if (data.schema.empty()) return;
  validation::require_schema(data.schema,
                             {.data = data.name, .folder = data.folder},
                             "training", "data.schema");
}

}  // namespace weft
