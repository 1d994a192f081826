// A folder through which people label: FOLDER/NAME.request.csv lists points,
// and FOLDER/NAME.labels.csv, once it lists them all with labels, answers.
#include "weft/base/file.h"
#include "weft/gate/id_table.h"
#include "weft/gate/labels.h"

namespace weft {
namespace {

class FolderLabels final : public LabelSource {
 public:
  explicit FolderLabels(std::filesystem::path folder)
      : folder_(std::move(folder)) {}

  bool takes_time() const override { return true; }

  std::optional<LabelsOfPoints> ask(const LabelRequest& request) override {
    if (request.ids.empty()) return LabelsOfPoints();
    const auto answer = folder_ / (request.name + ".labels.csv");
    std::error_code ignored;
    if (std::filesystem::is_regular_file(answer, ignored)) {
      return take_labels(IdTable(read_records(answer), kLabelColumn),
                         request.ids);
    }
    create_folders(folder_);
    std::string text = fmt::format("{}\n", kIdColumn);
    for (const std::string& id : request.ids) text += csv_field(id) + "\n";
    write_file(folder_ / (request.name + ".request.csv"), text);
    return std::nullopt;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace

void register_label_source_folder(LabelSourceRegistry& sources) {
  sources.add(
      {.name = "folder",
       .summary = "people answer requests in a folder",
       .options = {{.name = "path",
                    .value = std::string(),
                    .summary = "the folder"}},
       .make = [](const Options& options, const std::filesystem::path& folder)
           -> std::unique_ptr<LabelSource> {
         return std::make_unique<FolderLabels>(
             folder / option<std::string>(options, "path"));
       }});
}

}  // namespace weft
