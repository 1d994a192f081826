// Moves a bias and a relu that follow a convolution or a matrix product into
// it, where the library applies them while the result is still in registers.
#include <unordered_map>

#include "weft/compiler/pass.h"
#include "weft/graph/function_copy.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

// Who reads each value; a result of the function counts as one reader, -1.
std::vector<std::vector<NodeId>> readers_of(const Function& function) {
  std::vector<std::vector<NodeId>> readers(function.value_count());
  for (std::size_t i = 0; i < function.nodes().size(); ++i) {
    for (const ValueId id : function.nodes()[i].inputs) {
      readers[static_cast<std::size_t>(id)].push_back(static_cast<NodeId>(i));
    }
  }
  for (const ValueId id : function.results()) {
    readers[static_cast<std::size_t>(id)].push_back(-1);
  }
  return readers;
}

// An op takes an epilogue if its schema has the attribute for it.
bool takes_epilogue(const Node& node) {
  // With three operands it has a bias already.
  const Attribute* activation = node.attributes.find("activation");
  return activation != nullptr && node.inputs.size() == 2 &&
         std::get<std::string>(*activation) == "none";
}

class Fuser {
 public:
  explicit Fuser(const Function& function)
      : function_(function),
        readers_(readers_of(function)),
        skipped_(function.nodes().size(), false),
        is_taken_(function.nodes().size(), false),
        copy_(function, function.name()) {}

  Function run() {
    // The order of parameters and results is that of the function: a plan's
    // caller counts on it.
    copy_.add_parameters();
    find_epilogues();
    for (std::size_t i = 0; i < function_.nodes().size(); ++i) {
      if (!skipped_[i]) copy(static_cast<NodeId>(i));
    }
    return copy_.finish();
  }

 private:
  struct Epilogue {
    NodeId heavy;
    ValueId bias = -1;
    bool has_relu = false;
  };

  // The only reader of a value, or -1.
  NodeId only_reader(ValueId id) const {
    const auto& readers = readers_[static_cast<std::size_t>(id)];
    return readers.size() == 1 ? readers[0] : -1;
  }

  // The other operand of `add` if it is one number per channel of `y`.
  ValueId bias_of(const Node& add, ValueId y) const {
    const ValueId other = add.inputs[add.inputs[0] == y ? 1 : 0];
    const TensorType& type = function_.type(other);
    const TensorType& y_type = function_.type(y);
    const bool fits = other != y && type.dtype == y_type.dtype &&
                      type.shape.back() == y_type.shape.back() &&
                      type.shape.rank() <= y_type.shape.rank() &&
                      // All other axes are 1, so it repeats over them.
                      type.shape.num_elements() == type.shape.back() &&
                      function_.type(add.outputs[0]) == y_type;
    return fits ? other : -1;
  }

  void find_epilogues() {
    for (std::size_t i = 0; i < function_.nodes().size(); ++i) {
      const Node& heavy = function_.nodes()[i];
      if (!takes_epilogue(heavy)) continue;
      Epilogue epilogue{static_cast<NodeId>(i)};
      ValueId y = heavy.outputs[0];
      NodeId last = epilogue.heavy;
      // The product itself is no longer in memory afterwards: nobody else may
      // read it.
      NodeId next = only_reader(y);
      if (next >= 0 && function_.node(next).op->name() == "add") {
        epilogue.bias = bias_of(function_.node(next), y);
        // Where two products of one row are added, each could be the other's
        // bias: the first one takes it.
        const auto add = static_cast<std::size_t>(next);
        if (epilogue.bias < 0 || is_taken_[add]) continue;
        is_taken_[add] = true;
        last = next;
        y = function_.node(next).outputs[0];
        next = only_reader(y);
      }
      // The kernels take a relu and no other activation.
      if (next >= 0 && function_.node(next).op->name() == "relu") {
        epilogue.has_relu = true;
        skipped_[static_cast<std::size_t>(last)] = true;
        last = next;
      }
      if (last == epilogue.heavy) continue;
      // The whole stands where its last part stood: by then the bias exists.
      skipped_[i] = true;
      epilogues_[last] = epilogue;
    }
  }

  void copy(NodeId id) {
    const Node& node = function_.node(id);
    const auto found = epilogues_.find(id);
    if (found == epilogues_.end()) return copy_.add_node(node);
    const Epilogue& epilogue = found->second;
    const Node& heavy = function_.node(epilogue.heavy);
    std::vector<ValueId> inputs = copy_.renamed(heavy.inputs);
    Attributes attributes = heavy.attributes;
    if (epilogue.bias >= 0) inputs.push_back(bias(epilogue));
    if (epilogue.has_relu) attributes.set("activation", std::string("relu"));
    copy_[node.outputs[0]] =
        copy_.function()
            .add_node(*heavy.op, std::move(inputs), attributes, heavy.location)
            .outputs[0];
  }

  // The bias as a vector.
  ValueId bias(const Epilogue& epilogue) {
    const ValueId id = copy_[epilogue.bias];
    const Shape& shape = copy_.function().type(id).shape;
    if (shape.rank() == 1) return id;
    static const OpDef& reshape = op_registry().get("reshape");
    return copy_.function()
        .add_node(reshape, {id}, {{"shape", Shape{shape.back()}}}, Location())
        .outputs[0];
  }

  const Function& function_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> skipped_;
  std::vector<bool> is_taken_;  // additions of a bias
  std::unordered_map<NodeId, Epilogue> epilogues_;
  FunctionCopy copy_;
};

Function fuse_epilogues(const Function& function) {
  return Fuser(function).run();
}

}  // namespace

void register_pass_fuse_epilogues(PassRegistry& passes) {
  passes.add({
      .name = "fuse_epilogues",
      .summary = "moves a bias and a relu into the product before them",
      .order = 100,
      // The library may add the bias before it rounds.
      .keeps_bits = false,
      .run = fuse_epilogues,
      .samples =
          {{R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1) : f32[8, 3]
    %4 = add(%3, %2) : f32[8, 3]
    %5 = relu(%4) : f32[8, 3]
    return %5
  })",
            R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1, %2) {activation = "relu"} : f32[8, 3]
    return %3
  })"},
           // Somebody else reads the product.
           {R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3], f32[8, 3]) {
    %3 = matmul(%0, %1) : f32[8, 3]
    %4 = add(%3, %2) : f32[8, 3]
    return %3, %4
  })"},
           // This sum is no bias.
           {R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[8, 3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1) : f32[8, 3]
    %4 = add(%3, %2) : f32[8, 3]
    return %4
  })"}},
  });
}

}  // namespace weft
