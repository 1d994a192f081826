// A trained model exported beside what will be made of it, for as long as that
// takes: what is at that place stays there unless all goes well.
#pragma once

#include <filesystem>

#include "weft/train/trained_model.h"

namespace weft::cli {

class TemporaryExport {
 public:
  // The arguments are those of export_trained(), and throw as it does.
  TemporaryExport(const std::filesystem::path& model,
                  const std::filesystem::path& beside,
                  const std::filesystem::path& data_folder,
                  DType recurrent_weights = DType::kF32)
      : file_(beside.string() + ".exported") {
    export_trained(model, file_, data_folder, recurrent_weights);
  }
  ~TemporaryExport() {
    std::error_code nobody_asks;
    std::filesystem::remove(file_, nobody_asks);
  }
  TemporaryExport(const TemporaryExport&) = delete;
  TemporaryExport& operator=(const TemporaryExport&) = delete;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
};

}  // namespace weft::cli
