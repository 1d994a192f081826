// Where the labels of points come from. Those that lie there are known as soon
// as a test set is drawn; others are asked for when a verdict needs them, which
// is where models differ.
//
// A new source is one file in weft/gate/labels.
//
// Threads: immutable.
// Errors:  Error(kUnavailable) for a file or a program that is not there,
//          Error(kDataLoss) for answers that are none.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "weft/base/call_reader.h"
#include "weft/base/registry.h"

namespace weft {

// From ids of points.
using LabelsOfPoints = std::map<std::string, std::string>;

struct LabelRequest {
  std::string name;  // of the submission, as a file may be called
  std::span<const std::string> ids;
};

class LabelSource {
 public:
  virtual ~LabelSource() = default;

  // Whether people are asked, who answer when they do: the developer is then
  // told to wait for each verdict, whether it needs a label or not, as that
  // would say something of the test set.
  virtual bool takes_time() const { return false; }
  // The labels of all of these, or nothing if they are not all there yet; the
  // request is then made, once.
  virtual std::optional<LabelsOfPoints> ask(const LabelRequest& request) = 0;
};

struct LabelSourceDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // Paths are relative to `folder`. Null: labels stand beside the points.
  std::unique_ptr<LabelSource> (*make)(
      const Options& options, const std::filesystem::path& folder) = nullptr;
};

using LabelSourceRegistry = Registry<LabelSourceDef>;
// It is filled from the files of weft/gate/labels.
const LabelSourceRegistry& label_source_registry();

// Null for "data".
std::unique_ptr<LabelSource> make_label_source(
    std::string_view call, const std::filesystem::path& folder);

class IdTable;  // weft/gate/id_table.h
// The labels of all of these, or nothing where the table lacks one.
std::optional<LabelsOfPoints> take_labels(const IdTable& table,
                                          std::span<const std::string> ids);

}  // namespace weft
