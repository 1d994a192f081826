#include "weft/graph/attributes.h"

#include <algorithm>
#include <bit>
#include <fmt/ranges.h>
#include <functional>

#include "weft/base/hash.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// Shortest text that reads back to the same double, and never as an integer.
std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  // The parser tells reals from integers by these characters.
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

// dtype, shape and values: f32[2](0.5, 1.0).
std::string constant_text(const Tensor& tensor) {
  std::string text = to_string(tensor.type()) + "(";
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if (i > 0) text += ", ";
    // A double does not hold every i64.
    text += tensor.dtype() == DType::kI64
                ? fmt::format("{}", tensor.data<std::int64_t>()[i])
                : real_text(tensor.item(i));
  }
  return text + ")";
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    // All else stands as it is, also line breaks: the parser takes what comes
    // up to the closing quote.
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::size_t hash_text(std::string_view text) {
  return std::hash<std::string_view>{}(text);
}

// Each kind's own hash; hash_of() adds which kind it is.
struct Hasher {
  std::size_t operator()(bool v) const { return v ? 1 : 0; }
  std::size_t operator()(std::int64_t v) const {
    return hash_with(0, static_cast<std::uint64_t>(v));
  }
  std::size_t operator()(double v) const {
    return hash_with(0, std::bit_cast<std::uint64_t>(v));
  }
  std::size_t operator()(const std::string& v) const { return hash_text(v); }
  std::size_t operator()(const Integers& v) const { return all(v); }
  std::size_t operator()(const Shape& v) const { return all(v); }
  std::size_t operator()(DType v) const { return static_cast<std::size_t>(v); }
  std::size_t operator()(const Tensor& v) const {
    // The beginning tells constants apart well enough; equal() compares all of
    // those that collide.
    constexpr std::size_t kMostBytes = 256;
    std::size_t hash = hash_with((*this)(v.dtype()), (*this)(v.type().shape));
    if (v.bytes() == 0) return hash;
    return hash_with(hash, hash_text({static_cast<const char*>(v.raw()),
                                      std::min(v.bytes(), kMostBytes)}));
  }
  std::size_t operator()(const FunctionRef& v) const {
    // Functions of one name mostly have one signature.
    return hash_text(v.name);
  }
  std::size_t operator()(const HostFunctionRef& v) const {
    return std::hash<HostFunctionRef>{}(v);
  }
  std::size_t all(const auto& numbers) const {
    std::size_t hash = 0;
    for (const auto number : numbers) {
      hash = hash_with(hash, static_cast<std::uint64_t>(number));
    }
    return hash;
  }
};

}  // namespace

Attribute::Attribute() = default;
Attribute::Attribute(const Attribute& other) = default;
Attribute::Attribute(Attribute&& other) noexcept = default;
Attribute& Attribute::operator=(const Attribute& other) = default;
Attribute& Attribute::operator=(Attribute&& other) noexcept = default;
Attribute::~Attribute() = default;

std::string_view kind_of(const Attribute& attribute) {
  // The order is that of the variant.
  constexpr std::string_view kKinds[] = {
      "bool",  "integer", "real",   "text",     "integers",
      "shape", "dtype",   "tensor", "function", "host function"};
  return kKinds[attribute.index()];
}

std::string to_string(const Attribute& attribute) {
  struct Printer {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const {
      return fmt::format("{}", v);
    }
    std::string operator()(double v) const { return real_text(v); }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(const Integers& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
    std::string operator()(const Shape& v) const {
      return "shape" + to_string(v);
    }
    std::string operator()(DType v) const { return std::string(to_string(v)); }
    std::string operator()(const Tensor& v) const { return constant_text(v); }
    std::string operator()(const HostFunctionRef& v) const {
      // They are told apart by identity, since equal texts count as equal
      // attributes.
      return fmt::format("host {} {}", quoted(v ? v->name() : ""),
                         fmt::ptr(v.get()));
    }
    std::string operator()(const FunctionRef& v) const {
      return weft::to_string(v);
    }
  };
  return std::visit(Printer{}, attribute);
}

bool equal(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  // Constants and numbers are equal by their bits: NaN equals itself, so that a
  // graph equals its copy, and zeros of different signs differ.
  if (const auto* tensor = std::get_if<Tensor>(&a)) {
    return identical(*tensor, std::get<Tensor>(b));
  }
  return std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, Tensor>)
          return false;
        else if constexpr (std::is_same_v<T, double>)
          return std::bit_cast<std::uint64_t>(value) ==
                 std::bit_cast<std::uint64_t>(std::get<double>(b));
        else
          return value == std::get<T>(b);
      },
      a);
}

Attributes::Attributes() = default;
Attributes::Attributes(std::initializer_list<Entry> entries)
    : entries_(entries) {}
Attributes::Attributes(const Attributes& other) = default;
Attributes::Attributes(Attributes&& other) noexcept = default;
Attributes& Attributes::operator=(const Attributes& other) = default;
Attributes& Attributes::operator=(Attributes&& other) noexcept = default;
Attributes::~Attributes() = default;

// An op has a handful of attributes, so a list in order beats any index.
const Attribute* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : entries_) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Attributes::set(std::string name, Attribute value) {
  for (auto& [key, old] : entries_) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  entries_.emplace_back(std::move(name), std::move(value));
}

// Entries that complete() made are in the order of the schema, so no search is
// needed.
bool Attributes::operator==(const Attributes& other) const {
  return std::equal(begin(), end(), other.begin(), other.end(),
                    [](const Entry& a, const Entry& b) {
                      return a.first == b.first && equal(a.second, b.second);
                    });
}

std::size_t hash_of(const Attributes& attributes) {
  std::size_t hash = 0;
  // Names are left out: the op decides them, and whoever asks has hashed that.
  for (const auto& [name, value] : attributes) {
    hash = hash_with(hash, value.index());
    hash = hash_with(hash, std::visit(Hasher{}, value));
  }
  return hash;
}

std::string to_string(const Attributes& attributes) {
  if (attributes.empty()) return "";
  std::string text = " {";
  for (const auto& [name, value] : attributes) {
    if (text.size() > 2) text += ", ";
    text += name + " = " + to_string(value);
  }
  return text + "}";
}

}  // namespace weft
