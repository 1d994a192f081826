// A program that labels: it gets ids, one a line, and writes a table of CSV
// with the columns `id` and `label`.
#include "weft/gate/command.h"

#include "weft/gate/id_table.h"
#include "weft/gate/labels.h"

namespace weft {
namespace {

class CommandLabels final : public LabelSource {
 public:
  CommandLabels(std::vector<std::string> command, std::filesystem::path folder)
      : command_(std::move(command)), folder_(std::move(folder)) {
    if (command_.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "labels",
                  "command() names no program")
          .hint("labels = 'command([\"./label.sh\"])'");
    }
  }

  std::optional<LabelsOfPoints> ask(const LabelRequest& request) override {
    if (request.ids.empty()) return LabelsOfPoints();
    std::string input;
    for (const std::string& id : request.ids) input += id + "\n";
    const IdTable table(
        records_from_csv(ask_command(command_, input, folder_), command_[0]),
        kLabelColumn);
    auto labels = take_labels(table, request.ids);
    if (!labels) {
      throw Error(ErrorCode::kUnavailable, command_[0],
                  "does not label all points that it was asked for");
    }
    return labels;
  }

 private:
  std::vector<std::string> command_;
  std::filesystem::path folder_;
};

}  // namespace

void register_label_source_command(LabelSourceRegistry& sources) {
  sources.add(
      {.name = "command",
       .summary = "a program that gets ids, and writes a table of labels",
       .options = {{.name = "command",
                    .value = std::vector<std::string>(),
                    .summary = "the program and its arguments"}},
       .make = [](const Options& options, const std::filesystem::path& folder)
           -> std::unique_ptr<LabelSource> {
         return std::make_unique<CommandLabels>(
             option<std::vector<std::string>>(options, "command"), folder);
       }});
}

}  // namespace weft
