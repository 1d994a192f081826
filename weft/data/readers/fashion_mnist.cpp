// Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017), in MNIST's file layout. Its
// training part may be cut: train20k-* are the first 20,000 of its images.
#include "weft/data/idx_set.h"
#include "weft/data/registry.h"

namespace weft {
namespace {

const std::vector<std::string> kFashionClasses{
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

// The prefix of the training files that are there; "" for none.
std::string fashion_training_part(const std::filesystem::path& folder) {
  // The whole part is preferred to the cut one.
  for (const char* prefix : {"train", "train20k"}) {
    if (!find_idx_images(folder, prefix).empty()) return prefix;
  }
  return "";
}

DatasetSplits open_fashion_mnist(const DataRequest& request) {
  const IdxSetOptions options{.name = "fashion-mnist",
                              .classes = kFashionClasses};
  std::string part = fashion_training_part(request.folder);
  // What is missing is told by the name of the whole set.
  if (part.empty()) part = "train";
  DatasetSplits splits;
  splits.train = open_idx_set(request.folder, part, options);
  splits.test = open_idx_set(request.folder, "t10k", options);
  return splits;
}

SourceFile published(const std::string& name, std::uint64_t bytes,
                     const std::string& sha256) {
  return {
      "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/"
      "fashion/" +
          name,
      name, sha256, bytes};
}

}  // namespace

void register_data_fashion_mnist(DatasetRegistry& registry) {
  registry.add(
      {.name = "fashion-mnist",
       .summary = "clothes, 60,000 + 10,000 grey images of 28 x 28",
       .open = open_fashion_mnist,
       .is_in =
           [](const std::filesystem::path& folder) {
             return !fashion_training_part(folder).empty();
           },
       .sources = {published("train-images-idx3-ubyte.gz", 26421880,
                             "3aede38d61863908ad78613f6a32ed271626dd12800ba263"
                             "6569512369268a84"),
                   published("train-labels-idx1-ubyte.gz", 29515,
                             "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a"
                             "3aa29af54cc90845"),
                   published("t10k-images-idx3-ubyte.gz", 4422102,
                             "346e55b948d973a97e58d2351dde16a484bd415d45952976"
                             "33bb08f03db6a073"),
                   published("t10k-labels-idx1-ubyte.gz", 5148,
                             "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35d"
                             "fb1850b086bf8dd5")},
       .terms = "Zalando SE; MIT"});
}

}  // namespace weft
