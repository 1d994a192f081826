// The points that a gate draws its test sets from, and what models say of them.
//
// Threads: caller synchronises.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/gate/gate_file.h"
#include "weft/gate/labels.h"
#include "weft/train/model_in_use.h"

namespace weft {

class GatePoints {
 public:
  virtual ~GatePoints() = default;

  // All different, in the order of the data.
  const std::vector<std::string>& ids() const { return ids_; }
  // What a label may be; empty: anything.
  const std::vector<std::string>& classes() const { return classes_; }
  // As the ids are; empty where the data have none.
  const std::vector<std::string>& labels() const { return labels_; }
  // Tells other points apart.
  std::string digest() const;

  // The class that a model tells for each point. Throws Error(kInvalidArgument)
  // for a model of other data, Error(kUnsupported) for one that tells no
  // classes, and Error(kNumeric) for one that tells numbers that are none.
  virtual std::vector<std::string> predict(ModelInUse& model) const = 0;

 protected:
  std::vector<std::string> ids_;
  std::vector<std::string> classes_;
  std::vector<std::string> labels_;
};

// Throws what opening the data throws, and Error(kDataLoss) for an id that
// comes twice.
std::unique_ptr<GatePoints> open_points(const GateFile& file);

// Throws Error(kDataLoss) for points that are not as the gate's schema says,
// and what reading either throws. Without a schema nothing is looked at.
void check_points(const GateFile& file);

// One file each.
std::unique_ptr<GatePoints> open_points_of_recipe(
    const std::filesystem::path& recipe, const std::string& part);
std::unique_ptr<GatePoints> open_points_of_table(
    const std::filesystem::path& table);

// A model's predictions for all points: those of a file (.csv, .jsonl) by their
// ids, or what a trained model says.
std::vector<std::string> predictions_for(const GatePoints& points,
                                         const std::filesystem::path& model);

}  // namespace weft
