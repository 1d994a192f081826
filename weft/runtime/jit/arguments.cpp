#include "weft/runtime/jit/arguments.h"

#include <bit>
#include <cstring>
#include <map>

#include "weft/base/hash.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

constexpr std::size_t kWord = sizeof(std::int64_t);

std::size_t words_for(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + kWord - 1) / kWord;
}

// How many words follow the kind at `at`.
std::size_t payload(const std::vector<std::int64_t>& words, std::size_t at) {
  switch (words[at]) {
    case ArgumentKey::kTensor:
      // These are the dtype, the rank and the dims.
      return 2 + static_cast<std::size_t>(words[at + 2]);
    case ArgumentKey::kText:
      return 1 + words_for(words[at + 1]);
    case ArgumentKey::kEnd:
      return 0;
    default:
      return 1;
  }
}

std::string text_of(const ArgumentKey& key, const ArgumentLeaf& leaf) {
  const std::int64_t* word = key.words.data() + leaf.begin;
  switch (leaf.kind) {
    case ArgumentKey::kTensor: {
      const std::span dims(word + 2, static_cast<std::size_t>(word[1]));
      return to_string(TensorType{static_cast<DType>(word[0]), Shape(dims)});
    }
    case ArgumentKey::kBool:
      return *word != 0 ? "true" : "false";
    case ArgumentKey::kInteger:
      return fmt::format("the number {}", *word);
    case ArgumentKey::kReal:
      return fmt::format("the number {}", std::bit_cast<double>(*word));
    case ArgumentKey::kText:
      return fmt::format(
          "the text \"{}\"",
          std::string_view(reinterpret_cast<const char*>(word + 1),
                           static_cast<std::size_t>(*word)));
    case ArgumentKey::kObject:
      return "one object";
    case ArgumentKey::kBegin:
      return fmt::format("a container of {}", *word);
    case ArgumentKey::kEnd:
      return "the end of a container";
    case ArgumentKey::kContext:
      return "one device, precision or type";
  }
  return "";
}

bool is_same_leaf(const ArgumentKey& a, const ArgumentLeaf& x,
                  const ArgumentKey& b, const ArgumentLeaf& y) {
  if (x.kind != y.kind) return false;
  // The word before a leaf says of what kind it is.
  const std::size_t count = payload(a.words, x.begin - 1);
  if (count != payload(b.words, y.begin - 1)) return false;
  if (x.kind == ArgumentKey::kObject) {
    // Objects are the same if they have one owner: the address of one that died
    // may be another's by now.
    const auto& one = a.objects[static_cast<std::size_t>(a.words[x.begin])];
    const auto& other = b.objects[static_cast<std::size_t>(b.words[y.begin])];
    return !one.owner_before(other) && !other.owner_before(one);
  }
  return std::equal(
      a.words.begin() + static_cast<std::ptrdiff_t>(x.begin),
      a.words.begin() + static_cast<std::ptrdiff_t>(x.begin + count),
      b.words.begin() + static_cast<std::ptrdiff_t>(y.begin));
}

}  // namespace

bool ArgumentKey::operator==(const ArgumentKey& other) const {
  // Equal words have equally many objects, in the same places.
  if (words != other.words) return false;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].owner_before(other.objects[i]) ||
        other.objects[i].owner_before(objects[i])) {
      return false;
    }
  }
  // Two objects that are gone cannot be told apart, so that a key with one fits
  // nothing any more.
  return !has_dead_objects();
}

bool ArgumentKey::has_dead_objects() const {
  for (const auto& object : objects) {
    if (object.expired()) return true;
  }
  return false;
}

std::size_t ArgumentKey::hash() const {
  // Objects count by their number alone, and are compared afterwards.
  std::size_t hash = 0;
  for (const std::int64_t word : words) {
    hash = hash_with(hash, static_cast<std::uint64_t>(word));
  }
  return hash;
}

std::vector<ArgumentLeaf> leaves_of(const ArgumentKey& key) {
  std::vector<ArgumentLeaf> leaves;
  std::size_t argument = 0;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < key.words.size();) {
    const auto kind = static_cast<ArgumentKey::Kind>(key.words[at]);
    leaves.push_back({kind, at + 1, argument});
    if (kind == ArgumentKey::kBegin) ++depth;
    if (kind == ArgumentKey::kEnd) --depth;
    // A container is one argument, as the caller counts them.
    if (depth == 0 && kind != ArgumentKey::kContext) ++argument;
    at += 1 + payload(key.words, at);
  }
  return leaves;
}

std::vector<std::size_t> dim_places(const ArgumentKey& key) {
  std::vector<std::size_t> places;
  for (const ArgumentLeaf& leaf : leaves_of(key)) {
    if (leaf.kind != ArgumentKey::kTensor) continue;
    const auto rank = static_cast<std::size_t>(key.words[leaf.begin + 1]);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      places.push_back(leaf.begin + 2 + axis);
    }
  }
  return places;
}

bool covers(const ArgumentKey& pattern, const ArgumentKey& key) {
  if (pattern.words.size() != key.words.size()) return false;
  // Each symbol takes the size that stands in its place first; the keys are
  // then equal only if it is that size everywhere.
  ArgumentKey filled = pattern;
  std::map<std::int64_t, std::int64_t> sizes;
  for (const std::size_t place : dim_places(pattern)) {
    const std::int64_t dim = pattern.words[place];
    if (!is_symbolic(dim)) continue;
    filled.words[place] =
        sizes.try_emplace(dim, key.words[place]).first->second;
  }
  return filled == key;
}

std::string difference(const ArgumentKey& before, const ArgumentKey& now) {
  const auto old_leaves = leaves_of(before);
  const auto new_leaves = leaves_of(now);
  const std::size_t shared = std::min(old_leaves.size(), new_leaves.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if (is_same_leaf(before, old_leaves[i], now, new_leaves[i])) continue;
    // Two objects have the same text, and then the second is called "another".
    const std::string was = text_of(before, old_leaves[i]);
    const std::string is = text_of(now, new_leaves[i]);
    return fmt::format("argument {} was {}, and is {} now",
                       new_leaves[i].argument, was, is == was ? "another" : is);
  }
  return old_leaves.size() == new_leaves.size()
             ? ""
             : "the number of arguments changed";
}

void Arguments::add(const TensorType& type) {
  key_.words.insert(key_.words.end(),
                    {ArgumentKey::kTensor,
                     static_cast<std::int64_t>(type.dtype), type.shape.rank()});
  key_.words.insert(key_.words.end(), type.shape.begin(), type.shape.end());
}

void Arguments::add(double value) {
  // Numbers are compared as bits: NaN is then equal to itself, and does not
  // cause a new graph at each call.
  add_words(ArgumentKey::kReal, std::bit_cast<std::int64_t>(value));
}

void Arguments::add(std::string_view text) {
  add_words(ArgumentKey::kText, static_cast<std::int64_t>(text.size()));
  const std::size_t begin = key_.words.size();
  // The last word is filled up with zeros, so that equal texts are equal words.
  key_.words.resize(begin + words_for(static_cast<std::int64_t>(text.size())));
  std::memcpy(key_.words.data() + begin, text.data(), text.size());
}

void Arguments::add_object(std::weak_ptr<const void> object) {
  add_words(ArgumentKey::kObject,
            static_cast<std::int64_t>(key_.objects.size()));
  key_.objects.push_back(std::move(object));
}

}  // namespace weft
