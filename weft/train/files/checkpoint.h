// Checkpoints: everything that a run needs to continue, or a model to be
// used, in one safetensors file.
//
// What is not a tensor travels in the file's own metadata, so that one rename
// commits both; the same JSON stands beside it for people. A folder keeps two:
//
//   last.safetensors   last.json    the newest
//   best.safetensors   best.json    the one with the best score so far
//
// and below it, in "earlier", those of the run that was there before.
//
// Threads: caller synchronises; one process writes a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/data/description_marks.h"
#include "weft/data/loader.h"
#include "weft/files/safetensors.h"

namespace weft {

struct CheckpointInfo {
  std::string recipe;      // canonical TOML
  std::int64_t step = 0;   // optimizer steps done
  BatchPosition position;  // of the next batch
  std::uint64_t seed = 0;
  // What training measured: "train_loss", "best_accuracy", …. Values that are
  // no numbers (NaN, infinity) come back as NaN.
  std::map<std::string, double> metrics;
  // What the data mean that it is trained on; empty in files of before.
  DescriptionMarks data = {};
};

struct Checkpoint {
  CheckpointInfo info;
  std::vector<NamedTensor> tensors;
};

// The JSON of an info, and back. Throws Error(kDataLoss) naming `where` for
// what is no JSON, lacks a key or is of another format version.
std::string to_json(const CheckpointInfo& info);
CheckpointInfo parse_checkpoint_info(std::string_view text,
                                     std::string_view where);

// An open checkpoint.
class CheckpointFile {
 public:
  // Throws as SafetensorsFile does, and Error(kDataLoss) for a file without
  // Weft's metadata.
  explicit CheckpointFile(const std::filesystem::path& path);

  const CheckpointInfo& info() const { return info_; }
  const SafetensorsFile& tensors() const { return tensors_; }

  // The tensors called `wanted[i].name`, in that order, whose types must be
  // those of wanted[i]. Unless `allow_more`, the file must have no others.
  // Throws Error(kDataLoss) that lists all that is missing, superfluous or of
  // another type.
  struct Wanted {
    std::string name;
    TensorType type;
  };
  std::vector<Tensor> read(std::span<const Wanted> wanted,
                           bool allow_more = false) const;

 private:
  SafetensorsFile tensors_;
  CheckpointInfo info_;
};

// Writes the file, and the JSON for people beside it. Throws as
// write_safetensors().
void write_checkpoint(const std::filesystem::path& path,
                      const Checkpoint& checkpoint);

class CheckpointFolder {
 public:
  // Creates the folder if need be and clears away what a killed process left;
  // unless `is_writer`, touches nothing. Throws as create_folders().
  explicit CheckpointFolder(std::filesystem::path folder,
                            bool is_writer = true);

  // Replaces the last checkpoint, and the best one too if `is_best`. When
  // that fails (a full disk), the previous ones are still whole. Throws as
  // write_safetensors().
  void save(const Checkpoint& checkpoint, bool is_best);

  std::filesystem::path last_path() const;
  std::filesystem::path best_path() const;
  // The newest checkpoint, or nothing in a fresh folder.
  std::optional<std::filesystem::path> latest() const;

  // Puts what is there into "earlier", in place of what that folder has, and
  // returns its path, or nothing where there are no checkpoints. Throws
  // Error(kUnavailable) where files cannot be moved.
  std::optional<std::filesystem::path> set_aside();

 private:
  std::vector<std::filesystem::path> files() const;

  std::filesystem::path folder_;
};

}  // namespace weft
