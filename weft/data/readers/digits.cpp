// The digits that come with Weft: see data/digits/README.md.
#include "weft/data/idx_set.h"
#include "weft/data/registry.h"

namespace weft {
namespace {

constexpr int kWhite = 16;  // pixels count the inked dots of a 4 x 4 block

bool is_digits(const std::filesystem::path& folder) {
  return !find_idx_images(folder, "digits").empty();
}

DatasetSplits open_digits(const DataRequest& request) {
  return hold_out_fifth(open_idx_set(request.folder, "digits",
                                     {.name = "digits", .white = kWhite}));
}

}  // namespace

void register_data_digits(DatasetRegistry& registry) {
  registry.add({.name = "digits",
                .summary = "handwritten digits, 1,797 of 8 x 8; comes along",
                .open = open_digits,
                .is_in = is_digits,
                .terms = "Alpaydin and Kaynak, UCI; CC BY 4.0"});
}

}  // namespace weft
