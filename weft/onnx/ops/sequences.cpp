// Sequences and optionals. They are there while importing only: every length
// and position is known, so that what is read in the end are tensors.
#include <algorithm>

#include "weft/base/index.h"
#include "weft/onnx/node.h"
#include "weft/ops/join.h"
#include "weft/ops/shape.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

using Elements = std::vector<OnnxValue>;

const Elements& elements_of(const OnnxNode& node, std::size_t i) {
  const Elements* found = node.operand(i).elements();
  if (found == nullptr) throw node.damaged("operand {} is no sequence", i);
  return *found;
}

// A position from 0 to `last`; negative ones count from the end, which is
// `size`.
std::size_t position_of(const OnnxNode& node, std::size_t i, std::size_t size,
                        std::int64_t last) {
  const std::int64_t given = node.known_integer(i);
  const std::int64_t place =
      given < 0 ? given + static_cast<std::int64_t>(size) : given;
  if (place < 0 || place > last) {
    throw node.damaged("position {} in a sequence of {}", given, size);
  }
  return at(place);
}

void import_sequence_empty(OnnxNode& node) {
  node.set(OnnxValue::sequence({}));
}

void import_sequence_construct(OnnxNode& node) {
  Elements all;
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    all.push_back(node.operand(i));
  }
  node.set(OnnxValue::sequence(std::move(all)));
}

void import_sequence_length(OnnxNode& node) {
  const auto size = static_cast<std::int64_t>(elements_of(node, 0).size());
  node.set(Value(Tensor::scalar(size)));
}

void import_sequence_at(OnnxNode& node) {
  const Elements& all = elements_of(node, 0);
  node.set(all[position_of(node, 1, all.size(), std::ssize(all) - 1)]);
}

// Without a position it is the end.
void import_sequence_insert(OnnxNode& node) {
  Elements all = elements_of(node, 0);
  const std::size_t place =
      node.has(2) ? position_of(node, 2, all.size(), std::ssize(all))
                  : all.size();
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(place), node.operand(1));
  node.set(OnnxValue::sequence(std::move(all)));
}

void import_sequence_erase(OnnxNode& node) {
  Elements all = elements_of(node, 0);
  if (all.empty()) throw node.damaged("the sequence is empty");
  const std::size_t place =
      node.has(1) ? position_of(node, 1, all.size(), std::ssize(all) - 1)
                  : all.size() - 1;
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(place));
  node.set(OnnxValue::sequence(std::move(all)));
}

// The sizes of the parts: a list, or one for all parts but a shorter last one.
Integers parts_of(const OnnxNode& node, Dim size) {
  if (node.has(1) && node.operand(1).rank() == 1) return node.known_integers(1);
  const std::int64_t part = node.has(1) ? node.known_integer(1) : 1;
  if (part < 1) throw node.damaged("parts of {}", part);
  if (is_symbolic(size)) {
    throw node.unsupported(
        "cuts an axis of unknown size into parts of {}, but how many there are "
        "must be known",
        part);
  }
  constexpr std::int64_t kMostParts = 65536;
  if (size / part > kMostParts) {
    throw node.unsupported("cuts an axis into {} parts, more than {}",
                           size / part, kMostParts);
  }
  Integers parts(at(size / part), part);
  if (size % part != 0) parts.push_back(size % part);
  return parts;
}

void import_split_to_sequence(OnnxNode& node) {
  const Value x = node.input(0);
  const int axis = node.axis("axis", 0, x.shape().rank());
  const bool drops_axis = !node.has(1) && node.integer("keepdims", 1) == 0;
  Elements all;
  for (const Value& part : split(x, parts_of(node, x.shape()[axis]), axis)) {
    Shape rest;
    for (int i = 0; i < part.shape().rank(); ++i) {
      if (i != axis || !drops_axis) rest.push_back(part.shape()[i]);
    }
    all.push_back(reshaped(part, rest));
  }
  node.set(OnnxValue::sequence(std::move(all)));
}

void import_concat_from_sequence(OnnxNode& node) {
  const Elements& all = elements_of(node, 0);
  if (all.empty()) throw node.unsupported("puts together an empty sequence");
  const bool is_new = node.integer("new_axis", 0) != 0;
  const int rank = all[0].rank() + (is_new ? 1 : 0);
  const int axis = node.axis("axis", {}, rank);
  std::vector<Value> parts;
  for (const OnnxValue& each : all) {
    const Value part = each.plain();
    Shape shape = part.shape();
    if (is_new) {
      shape = {};
      for (int i = 0, next = 0; i < rank; ++i) {
        shape.push_back(i == axis ? 1 : part.shape()[next++]);
      }
    }
    parts.push_back(reshaped(part, shape));
  }
  node.set(concat(parts, axis));
}

// The body runs on each element, and on what is beside it: an element of
// another sequence, or the same tensor every time.
void import_sequence_map(OnnxNode& node) {
  const GraphProto& body = node.graph("body");
  const std::size_t count = elements_of(node, 0).size();
  std::vector<Elements> results(node.result_count());
  for (std::size_t step = 0; step < count; ++step) {
    Elements arguments;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Elements* all = node.operand(i).elements();
      if (all != nullptr && all->size() != count) {
        throw node.damaged("sequences of {} and {} elements", count,
                           all->size());
      }
      arguments.push_back(all == nullptr ? node.operand(i) : (*all)[step]);
    }
    const Elements made = node.run(body, arguments);
    if (made.size() < results.size()) {
      throw node.damaged("the body returns {} values", made.size());
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i].push_back(made[i]);
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    node.set(i, OnnxValue::sequence(std::move(results[i])));
  }
}

// Optionals hold something, or nothing, by the model alone.
void import_optional(OnnxNode& node) {
  node.set(node.has(0) ? node.operand(0) : OnnxValue::nothing());
}

void import_has_element(OnnxNode& node) {
  node.set(Value(Tensor::scalar(node.has(0) && !node.operand(0).is_nothing())));
}

void import_get_element(OnnxNode& node) {
  if (node.operand(0).is_nothing()) {
    throw node.damaged("the optional holds nothing");
  }
  node.set(node.operand(0));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_sequences(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "SequenceEmpty", .import = import_sequence_empty});
  ops.add({.name = "SequenceConstruct", .import = import_sequence_construct});
  ops.add({.name = "SequenceLength", .import = import_sequence_length});
  ops.add({.name = "SequenceAt", .import = import_sequence_at});
  ops.add({.name = "SequenceInsert", .import = import_sequence_insert});
  ops.add({.name = "SequenceErase", .import = import_sequence_erase});
  ops.add({.name = "SplitToSequence", .import = import_split_to_sequence});
  ops.add(
      {.name = "ConcatFromSequence", .import = import_concat_from_sequence});
  ops.add({.name = "SequenceMap", .import = import_sequence_map});
  ops.add({.name = "Optional", .import = import_optional});
  ops.add({.name = "OptionalHasElement", .import = import_has_element});
  ops.add({.name = "OptionalGetElement", .import = import_get_element});
}

}  // namespace weft
