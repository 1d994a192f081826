// Checkpoints of whole programs: objects form a graph whose edges are named by
// attribute, list index or key, and whose leaves are variables. What is saved
// is that graph with the variables' values.
//
// Restoring matches the two graphs from their roots along edges of equal
// names. So names are never global: two copies of a model do not clash, order
// of creation does not matter, and only the objects themselves decide.
//
//   Object root;
//   root.attach("model", object_of(model));
//   root.attach("step", step);
//   save_objects("run.safetensors", root);
//   ...
//   const Restored restored = restore_objects("run.safetensors", root);
//
// What is in the file and not yet in the program waits: it is restored when
// an object with an edge of that name is attached.
//
// Training has checkpoints of its own (checkpoint.h): there a step's
// description gives every tensor a global name, and files of other programs can
// be read by these names.
//
// Format: safetensors; a tensor is called by its path ("model.0.weight"), and
// "weft.objects" of the metadata is
//   {"format": 1, "nodes": [{"edges": {"model": 1}},
//                           {"edges": {}, "tensor": "model"}, …]}
// with the root first.
//
// Threads: caller synchronises.
// Source:  Agrawal et al., "TensorFlow Eager", 2019, section 4.3.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/variable.h"
#include "weft/nn/module.h"

namespace weft {

class Restoration;

// A handle on a node of the graph; copies are the same node. An edge keeps its
// child alive; objects in a circle keep each other until an edge is detached.
class Object {
 public:
  Object();

  // Adds an edge, or replaces the one of that name. Restores what waits for
  // it. Throws as restore_objects().
  void attach(const std::string& name, const Object& child);
  void attach(const std::string& name, const Variable& variable);
  // Removes an edge, if there is one of that name.
  void detach(const std::string& name);

  struct Node;
  explicit Object(std::shared_ptr<Node> node) : node_(std::move(node)) {}
  const std::shared_ptr<Node>& node() const { return node_; }

 private:
  std::shared_ptr<Node> node_;
};

// Layers and parameters under their names.
Object object_of(const nn::Module& module);

// Writes the graph atomically. Throws Error(kInvalidArgument) naming the path
// of a variable without a value, and as write_safetensors() does.
void save_objects(const std::filesystem::path& path, const Object& root);

// How far the graphs agree, as paths from the root; changes as objects are
// attached.
class Restored {
 public:
  Restored(std::shared_ptr<Restoration> restoration, Object root)
      : restoration_(std::move(restoration)), root_(std::move(root)) {}

  // Paths of what is in the file, and not in the program.
  std::vector<std::string> missing() const;
  // Paths of what is in the program, and not in the file.
  std::vector<std::string> unexpected() const;
  // Throws Error(kDataLoss) that lists both, unless both are empty.
  void require_complete() const;

 private:
  std::shared_ptr<Restoration> restoration_;
  Object root_;
};

// Gives the variables below `root` the values of the file, now and later.
// Throws Error(kDataLoss) for a damaged file, and for a value of another type
// than its variable's, naming the path.
Restored restore_objects(const std::filesystem::path& path, const Object& root);

// The graph of a file, as its metadata has it. Throws Error(kDataLoss) naming
// `where`.
struct SavedObject {
  std::map<std::string, std::size_t> edges;
  std::string tensor;  // of a variable
};
std::vector<SavedObject> parse_objects(std::string_view text,
                                       std::string_view where);

}  // namespace weft
