#include "weft/gate/points.h"

#include <algorithm>
#include <sodium.h>

#include "weft/gate/id_table.h"
#include "weft/ledger/record.h"
#include "weft/train/recipe/recipe.h"
#include "weft/validation/required.h"

namespace weft {
namespace {

bool is_table(const std::filesystem::path& path) {
  return path.extension() == ".csv" || path.extension() == ".jsonl";
}

void check_classes(const std::vector<std::string>& classes,
                   const std::vector<std::string>& ids,
                   const std::vector<std::string>& predictions,
                   const std::string& where) {
  if (classes.empty()) return;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    if (std::ranges::count(classes, predictions[i]) > 0) continue;
    throw Error(ErrorCode::kInvalidArgument, where,
                "'{}' of point '{}' is no class of these data",
                shown(predictions[i]), shown(ids[i]));
  }
}

}  // namespace

std::string GatePoints::digest() const {
  crypto_generichash_state state;
  crypto_generichash_init(&state, /*key=*/nullptr, 0, sizeof(LedgerDigest));
  for (const std::string& id : ids_) {
    const std::uint64_t size = id.size();
    crypto_generichash_update(
        &state, reinterpret_cast<const unsigned char*>(&size), sizeof size);
    crypto_generichash_update(
        &state, reinterpret_cast<const unsigned char*>(id.data()), id.size());
  }
  LedgerDigest digest;
  crypto_generichash_final(&state, digest.data(), digest.size());
  return to_text(digest);
}

std::unique_ptr<GatePoints> open_points(const GateFile& file) {
  return file.config.points.empty()
             ? open_points_of_recipe(file.folder() / file.config.recipe,
                                     file.config.part)
             : open_points_of_table(file.folder() / file.config.points);
}

void check_points(const GateFile& file) {
  const GateConfig& config = file.config;
  if (config.schema.empty()) return;
  validation::RowRequest rows{.data = config.points};
  if (config.points.empty()) {
    const DataRecipe data = load_recipe(file.folder() / config.recipe).data;
    rows = {.data = data.name, .folder = data.folder, .part = config.part};
  } else {
    rows.data = (file.folder() / config.points).string();
  }
  validation::require_schema(file.folder() / config.schema, rows, "gate",
                             "gate.schema");
}

std::vector<std::string> predictions_for(const GatePoints& points,
                                         const std::filesystem::path& model) {
  std::vector<std::string> predictions;
  if (is_table(model)) {
    predictions =
        IdTable(read_records(model), kPredictionColumn).in_order(points.ids());
  } else {
    const auto opened = open_model(model);
    predictions = points.predict(*opened);
  }
  check_classes(points.classes(), points.ids(), predictions, model.string());
  return predictions;
}

}  // namespace weft
