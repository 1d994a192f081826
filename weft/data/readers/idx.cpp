// Folders in the layout of MNIST: train-images-idx3-ubyte and its three
// companions, packed or plain. "mnist" is the set itself; "idx" any other in
// that layout.
#include "weft/data/idx_set.h"
#include "weft/data/registry.h"

namespace weft {
namespace {

// The mean and standard deviation of the training pixels.
constexpr float kMnistMean = 33.318421f;
constexpr float kMnistStd = 78.567490f;

bool is_idx(const std::filesystem::path& folder) {
  return !find_idx_images(folder, "train").empty();
}

// A test set may use fewer classes than the training set, not more.
DatasetSplits open_idx(const DataRequest& request, IdxSetOptions options) {
  DatasetSplits splits;
  splits.train = open_idx_set(request.folder, "train", options);
  options.classes = splits.train->classes();
  splits.test = open_idx_set(request.folder, "t10k", options);
  return splits;
}

DatasetSplits open_idx(const DataRequest& request) {
  return open_idx(request, {.name = request.name});
}

DatasetSplits open_mnist(const DataRequest& request) {
  return open_idx(
      request, {.name = "mnist", .pixel_scale = {{kMnistMean}, {kMnistStd}}});
}

SourceFile file(const std::string& name, std::uint64_t bytes,
                const std::string& sha256) {
  return {.url = "https://ossci-datasets.s3.amazonaws.com/mnist/" + name,
          .name = name,
          .sha256 = sha256,
          .bytes = bytes,
          .mirrors = {"https://storage.googleapis.com/cvdf-datasets/mnist/" +
                      name}};
}

}  // namespace

void register_data_idx(DatasetRegistry& registry) {
  registry.add({.name = "idx",
                .summary = "grey images in MNIST's file layout",
                .open = open_idx,
                .is_in = is_idx,
                .terms = "your own data",
                .is_named_set = false});
  registry.add(
      {.name = "mnist",
       .summary = "handwritten digits, 60,000 + 10,000 of 28 x 28",
       .open = open_mnist,
       .is_in = is_idx,
       .sources = {file("train-images-idx3-ubyte.gz", 9912422,
                        "440fcabf73cc546fa21475e81ea370265605f56be210a402"
                        "4d2ca8f203523609"),
                   file("train-labels-idx1-ubyte.gz", 28881,
                        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8b"
                        "e1a0730e8010255c"),
                   file("t10k-images-idx3-ubyte.gz", 1648877,
                        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584"
                        "aec276f5a2dbc4e6"),
                   file("t10k-labels-idx1-ubyte.gz", 4542,
                        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defa"
                        "efb259924204aec6")},
       .terms = "LeCun, Cortes, Burges; commonly cited as CC BY-SA 3.0"});
}

}  // namespace weft
