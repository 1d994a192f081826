#include "weft/gate/labels.h"

#include "weft/gate/id_table.h"

namespace weft {

std::unique_ptr<LabelSource> make_label_source(
    std::string_view call, const std::filesystem::path& folder) {
  const auto source =
      parse_call(call, label_source_registry(), label_source_registry().kind());
  if (source.def->make == nullptr) return nullptr;
  return source.def->make(source.options, folder);
}

std::optional<LabelsOfPoints> take_labels(const IdTable& table,
                                          std::span<const std::string> ids) {
  LabelsOfPoints labels;
  for (const std::string& id : ids) {
    const auto label = table.find(id);
    if (!label) return std::nullopt;
    labels[id] = *label;
  }
  return labels;
}

}  // namespace weft
