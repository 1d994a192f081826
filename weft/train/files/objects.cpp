#include "weft/train/files/objects.h"

#include <nlohmann/json.hpp>
#include <set>

#include "weft/files/safetensors.h"

namespace weft {

struct Object::Node {
  std::map<std::string, std::shared_ptr<Node>> edges;
  VariableRef variable;  // of a leaf
  // What the node was restored from; sharing it keeps the file open for as long
  // as something may yet be attached.
  std::shared_ptr<Restoration> restoration;
  std::size_t saved = 0;
};

namespace {

using Json = nlohmann::ordered_json;
using NodeRef = std::shared_ptr<Object::Node>;

constexpr const char* kObjectsKey = "weft.objects";
constexpr int kObjectsFormat = 1;

std::string join(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

// All nodes, each once, with the first path that leads there; parents first.
struct Found {
  NodeRef node;
  std::string path;
};

// The walk goes breadth first, so the path of an object that several lead to is
// a shortest one.
std::vector<Found> nodes_below(const NodeRef& root) {
  std::vector<Found> found{{root, ""}};
  std::set<const Object::Node*> known{root.get()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    // It is copied because the vector grows, and may move, below.
    const Found here = found[i];
    for (const auto& [name, child] : here.node->edges) {
      // Objects may be shared, and may even lead back to themselves.
      if (known.insert(child.get()).second) {
        found.push_back({child, join(here.path, name)});
      }
    }
  }
  return found;
}

}  // namespace

// A file that is being matched with objects.
class Restoration : public std::enable_shared_from_this<Restoration> {
 public:
  explicit Restoration(const std::filesystem::path& path) : file_(path) {
    const auto text = file_.metadata().find(kObjectsKey);
    if (text == file_.metadata().end()) {
      throw Error(ErrorCode::kDataLoss, path.string(),
                  "there are no objects in it: its metadata has no '{}'",
                  kObjectsKey);
    }
    saved_ = parse_objects(text->second, path.string());
    is_bound_.resize(saved_.size());
  }

  // Greedy: the first object that a saved one is matched with keeps it.
  void match(const NodeRef& node, std::size_t saved, const std::string& path) {
    // An object that several edges lead to was matched by the first of them.
    if (is_bound_[saved] || node->restoration.get() == this) return;
    // Both marks are set before the children are visited: circles end here.
    is_bound_[saved] = true;
    node->restoration = shared_from_this();
    node->saved = saved;
    if (node->variable != nullptr && !saved_[saved].tensor.empty()) {
      read(*node->variable, saved_[saved].tensor, path);
    }
    for (const auto& [name, child] : node->edges) match_edge(node, name, path);
  }

  void match_edge(const NodeRef& node, const std::string& name,
                  const std::string& path) {
    // Edges that only the program has stay unmatched, and unexpected() tells
    // them.
    const auto& edges = saved_[node->saved].edges;
    const auto edge = edges.find(name);
    if (edge == edges.end()) return;
    match(node->edges.at(name), edge->second, join(path, name));
  }

  std::vector<std::string> missing() const {
    std::vector<std::string> paths;
    // Object 0 is the root.
    std::vector<std::pair<std::size_t, std::string>> found{{0, ""}};
    std::set<std::size_t> known{0};
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto [saved, path] = found[i];
      if (!is_bound_[saved]) paths.push_back(path);
      for (const auto& [name, child] : saved_[saved].edges) {
        if (known.insert(child).second) {
          found.emplace_back(child, join(path, name));
        }
      }
    }
    return paths;
  }

  std::vector<std::string> unexpected(const NodeRef& root) const {
    // What this file did not restore is found from the program's side.
    std::vector<std::string> paths;
    for (const Found& found : nodes_below(root)) {
      if (found.node->restoration.get() != this) paths.push_back(found.path);
    }
    return paths;
  }

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void read(VariableState& variable, const std::string& tensor,
            const std::string& path) {
    const SafetensorsEntry* entry = file_.find(tensor);
    if (entry == nullptr) {
      throw Error(ErrorCode::kDataLoss, file_.path().string(),
                  "there is no tensor '{}'", tensor);
    }
    if (entry->type != variable.type) {
      throw Error(ErrorCode::kDataLoss, file_.path().string(),
                  "'{}' is {} in the file, and {} in the program", path,
                  to_string(entry->type), to_string(variable.type));
    }
    // The tensor is replaced and not written into, as values that were read
    // from the variable before may share it.
    variable.value = file_.read(*entry);
  }

  SafetensorsFile file_;
  std::vector<SavedObject> saved_;
  std::vector<bool> is_bound_;  // by saved object
};

Object::Object() : node_(std::make_shared<Node>()) {}

void Object::attach(const std::string& name, const Object& child) {
  node_->edges[name] = child.node_;
  // Layers make variables when they first run, which may be after the
  // restoring: what the file has for the new edge is read now.
  if (node_->restoration) node_->restoration->match_edge(node_, name, "");
}

void Object::attach(const std::string& name, const Variable& variable) {
  Object leaf;
  leaf.node_->variable = variable.state();
  attach(name, leaf);
}

void Object::detach(const std::string& name) { node_->edges.erase(name); }

Object object_of(const nn::Module& module) {
  Object root;
  for (const nn::NamedParameter& named : module.parameters()) {
    Object at = root;
    // Full names are taken apart again, so that objects have the shape of the
    // model, and not one level of dotted names.
    std::string_view rest = named.name;
    for (auto dot = rest.find('.'); dot != rest.npos; dot = rest.find('.')) {
      const std::string name(rest.substr(0, dot));
      Object child;
      const auto known = at.node()->edges.find(name);
      if (known == at.node()->edges.end()) {
        at.attach(name, child);
      } else {
        child = Object(known->second);
      }
      at = child;
      rest.remove_prefix(dot + 1);
    }
    at.attach(std::string(rest), named.parameter->variable);
  }
  return root;
}

void save_objects(const std::filesystem::path& path, const Object& root) {
  const std::vector<Found> found = nodes_below(root.node());
  std::map<const Object::Node*, std::size_t> index;
  for (std::size_t i = 0; i < found.size(); ++i) {
    // Nodes are named by their numbers, so that shared ones and circles are
    // edges like all others.
    index[found[i].node.get()] = i;
  }
  std::vector<NamedTensor> tensors;
  std::set<std::string> names;
  Json nodes = Json::array();
  for (const Found& each : found) {
    Json edges = Json::object();
    for (const auto& [name, child] : each.node->edges) {
      edges[name] = index.at(child.get());
    }
    Json node{{"edges", std::move(edges)}};
    if (each.node->variable != nullptr) {
      const Tensor& value = each.node->variable->value;
      // A layer makes its variables when it first runs.
      if (!value.is_defined()) {
        throw Error(ErrorCode::kInvalidArgument, path.string(),
                    "the variable '{}' has no value to save", each.path);
      }
      // Names of edges may hold dots, so paths may be alike.
      std::string name = each.path;
      while (!names.insert(name).second) name += '\'';
      node["tensor"] = name;
      tensors.push_back({std::move(name), value});
    }
    nodes.push_back(std::move(node));
  }
  const Json objects{{"format", kObjectsFormat}, {"nodes", std::move(nodes)}};
  write_safetensors(path, tensors, {{kObjectsKey, objects.dump()}});
}

Restored restore_objects(const std::filesystem::path& path,
                         const Object& root) {
  // It is shared with the nodes, which ask it when something is attached later
  // (attach()).
  auto restoration = std::make_shared<Restoration>(path);
  restoration->match(root.node(), 0, "");
  return Restored(std::move(restoration), root);
}

std::vector<std::string> Restored::missing() const {
  return restoration_->missing();
}

std::vector<std::string> Restored::unexpected() const {
  return restoration_->unexpected(root_.node());
}

void Restored::require_complete() const {
  Error error(ErrorCode::kDataLoss, restoration_->path().string(),
              "the objects of the file are not those of the program");
  // Both lists are told, as a layer that was renamed shows in one and in the
  // other.
  for (const auto& path : missing()) error.detail("in the file only: " + path);
  for (const auto& path : unexpected()) {
    error.detail("in the program only: " + path);
  }
  if (!missing().empty() || !unexpected().empty()) throw error;
}

std::vector<SavedObject> parse_objects(std::string_view text,
                                       std::string_view where) {
  const auto damaged = [&](std::string_view what) {
    return Error(ErrorCode::kDataLoss, where, "damaged objects: {}", what);
  };
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != kObjectsFormat) {
      throw Error(ErrorCode::kUnsupported, where,
                  "another format of objects than {}", kObjectsFormat);
    }
    const Json& nodes = json.at("nodes");
    if (!nodes.is_array() || nodes.empty()) throw damaged("there is no root");
    std::vector<SavedObject> objects;
    for (const Json& node : nodes) {
      SavedObject object;
      for (const auto& [name, child] : node.at("edges").items()) {
        // match() follows these numbers without looking again.
        if (!child.is_number_unsigned() ||
            child.get<std::uint64_t>() >= nodes.size()) {
          throw damaged("the edge '" + name + "' leads nowhere");
        }
        object.edges[name] = child.get<std::size_t>();
      }
      if (node.contains("tensor")) object.tensor = node.at("tensor");
      objects.push_back(std::move(object));
    }
    return objects;
  } catch (const nlohmann::json::exception& error) {
    throw damaged(error.what());
  }
}

}  // namespace weft
