// The arguments of one call of a staged function, flattened: the tensors that
// it runs on, and a key that says which graph may run on them.
//
// Tensors count by dtype and shape, numbers and texts by value, other objects
// by identity, containers by structure.
//
// Threads: a value type. Refers to the Values it was given.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/value.h"

namespace weft {

// Words that compare and hash fast, and can be told in words again. Each leaf
// is a kind, followed by what the kind needs.
struct ArgumentKey {
  enum Kind : std::int64_t {
    kTensor,   // dtype, rank, dims
    kBool,     // value
    kInteger,  // value
    kReal,     // bits
    kText,     // length, bytes in words
    kObject,   // index into `objects`
    kBegin,    // a container begins: size
    kEnd,
    kContext,  // bits: what else the graph depends on
  };

  std::vector<std::int64_t> words;
  // Objects are remembered weakly: one that has died equals none, whatever is
  // allocated at its address later.
  std::vector<std::weak_ptr<const void>> objects;

  // They have the same words and same living objects.
  bool operator==(const ArgumentKey& other) const;
  bool has_dead_objects() const;
  std::size_t hash() const;
};

// Where a leaf begins in the words, and what it is.
struct ArgumentLeaf {
  ArgumentKey::Kind kind;
  std::size_t begin;     // where its words begin, after the kind
  std::size_t argument;  // which one; leaves outside of containers count
};

std::vector<ArgumentLeaf> leaves_of(const ArgumentKey& key);
// Where the dims of tensors stand in the words.
std::vector<std::size_t> dim_places(const ArgumentKey& key);
// Whether a graph for `pattern` takes such arguments: they are the same, but
// for dims that symbols of the pattern can stand for.
bool covers(const ArgumentKey& pattern, const ArgumentKey& key);

// "argument 0 was f32[3], and is f32[4] now"; empty if the keys are equal.
std::string difference(const ArgumentKey& before, const ArgumentKey& now);

class Arguments {
 public:
  void add(const Value& tensor) {
    add(tensor.type());
    tensors_.push_back(&tensor);
  }
  // A tensor that is not there yet.
  void add(const TensorType& type);
  void add(bool value) { add_words(ArgumentKey::kBool, value ? 1 : 0); }
  void add(std::int64_t value) { add_words(ArgumentKey::kInteger, value); }
  void add(double value);
  void add(std::string_view text);
  void add_object(std::weak_ptr<const void> object);
  void begin(std::size_t size) {
    add_words(ArgumentKey::kBegin, static_cast<std::int64_t>(size));
  }
  void end() { key_.words.push_back(ArgumentKey::kEnd); }
  // What is no argument but decides what is traced: device, precision, types
  // of C++.
  void add_context(std::int64_t word) {
    add_words(ArgumentKey::kContext, word);
  }

  const std::vector<const Value*>& tensors() const { return tensors_; }
  const ArgumentKey& key() const { return key_; }

 private:
  void add_words(ArgumentKey::Kind kind, std::int64_t word) {
    key_.words.push_back(kind);
    key_.words.push_back(word);
  }

  ArgumentKey key_;
  std::vector<const Value*> tensors_;
};

}  // namespace weft
