// The model zoo: complete networks that a recipe can name, one file of
// weft/nn/models each.
//
// Threads: immutable after freeze(); model_registry() is safe anywhere.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/ranges.h"
#include "weft/base/registry.h"
#include "weft/nn/module.h"

namespace weft {

// What a task knows of the data, and a model must know to be built.
struct ModelInput {
  Shape example;             // one input, without the batch axis
  std::int64_t classes = 0;  // or words of the vocabulary, or numbers to tell
  std::int64_t words = 0;    // that an example is made of; 0: of none
  // How many categories each of the last columns of `example` tells apart,
  // where that is a row of a table (nn/table_row.h). Empty: all are numbers.
  std::vector<std::int64_t> categories = {};
  // So many streams run side by side, where a model carries state.
  std::int64_t lanes = 0;
};

struct ModelDef {
  std::string name;
  std::string summary;
  // What it is trained for unless a recipe says so: of weft/train/tasks.
  std::string task = "classification";
  std::vector<OptionSpec> options;
  // Whether it makes vectors of categories; else build_model() refuses them, as
  // their numbers mean nothing.
  bool takes_categories = false;
  // Whether it reads words; else build_model() refuses these likewise.
  bool takes_words = false;
  // `options` are complete. Throws Error(kInvalidArgument) for an input that
  // does not suit the model.
  std::unique_ptr<nn::Module> (*build)(const ModelInput& input,
                                       const Options& options) = nullptr;
};

using ModelRegistry = Registry<ModelDef>;
// It is filled from the files of weft/nn/models.
const ModelRegistry& model_registry();

// The named model, not initialized, which the caller owns. Throws
// Error(kInvalidArgument) for unknown options, and what def.build() throws.
std::unique_ptr<nn::Module> build_model(const ModelDef& def,
                                        const ModelInput& input,
                                        const Options& options);

// Models of images call this. Throws Error(kInvalidArgument) naming `model`
// unless the example is [height, width, channels] with sides of at least
// `side`.
void require_image(std::string_view model, const ModelInput& input,
                   std::int64_t side);
// Models of texts call this. Throws Error(kInvalidArgument) naming `model`
// unless the example is a row of words, of which there are some, and so of
// classes.
void require_words(std::string_view model, const ModelInput& input);
// Models of trees (nn/tree.h) call this. Throws Error(kInvalidArgument) naming
// `model` unless the example is a table [rows, 2] of nodes with words.
void require_trees(std::string_view model, const ModelInput& input);

}  // namespace weft
