// A table of all labels, which the owner keeps elsewhere than the points.
#include "weft/gate/id_table.h"
#include "weft/gate/labels.h"

namespace weft {
namespace {

class FileLabels final : public LabelSource {
 public:
  explicit FileLabels(std::filesystem::path path) : path_(std::move(path)) {}

  std::optional<LabelsOfPoints> ask(const LabelRequest& request) override {
    const IdTable table(read_records(path_), kLabelColumn);
    auto labels = take_labels(table, request.ids);
    if (!labels) {
      throw Error(ErrorCode::kUnavailable, path_.string(),
                  "lacks the label of a point");
    }
    return labels;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

void register_label_source_file(LabelSourceRegistry& sources) {
  sources.add(
      {.name = "file",
       .summary = "a table with the columns 'id' and 'label'",
       .options = {{.name = "path",
                    .value = std::string(),
                    .summary = "the table"}},
       .make = [](const Options& options, const std::filesystem::path& folder)
           -> std::unique_ptr<LabelSource> {
         return std::make_unique<FileLabels>(
             folder / option<std::string>(options, "path"));
       }});
}

}  // namespace weft
