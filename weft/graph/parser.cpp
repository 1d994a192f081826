// Reads the text form. Every loop consumes input, and every count is bounded
// by the text's length, so a hostile text costs no more than its own size.
#include <cctype>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "weft/graph/known_sizes.h"
#include "weft/graph/registry.h"
#include "weft/graph/text.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

class Parser {
 public:
  Parser(std::string_view text, std::string_view source)
      : text_(text), source_(source) {}

  Graph graph() {
    Graph graph;
    std::unordered_set<std::string> names;
    skip_space();
    while (position_ < text_.size()) {
      graph.functions.push_back(function());
      // References go by name, so that two of one name could not be told apart.
      if (!names.insert(graph.functions.back().name()).second) {
        fail("there are two functions of this name");
      }
    }
    // Functions may refer to later ones, so references are checked when all are
    // there, each at the place where it stands.
    const FunctionIndex index(graph);
    for (const auto& [position, reference] : references_) {
      const auto problem = index.problem_with(reference);
      if (!problem) continue;
      position_ = position;
      fail(*problem);
    }
    return graph;
  }

 private:
  // --- Lexing -----------------------------------------------------------
  [[noreturn]] void fail(const std::string& message) const {
    // Lines are counted for an error only, not at every character.
    std::size_t line = 1;
    std::size_t column = 1;
    for (const char c : text_.substr(0, position_)) {
      column = c == '\n' ? 1 : column + 1;
      line += c == '\n';
    }
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}:{}:{}", source_, line, column), message);
  }

  void skip_space() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '#') {
        // A comment ends with its line, or with the text.
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        ++position_;
      } else {
        return;
      }
    }
  }

  bool accept(std::string_view token) {
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    skip_space();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("expected '{}'", token));
  }

  // Names of functions have dots in them, as in "tree.joint".
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  }

  std::string_view word(const char* what) {
    const std::size_t begin = position_;
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    if (begin == position_) fail(fmt::format("expected {}", what));
    const auto result = text_.substr(begin, position_ - begin);
    skip_space();
    return result;
  }

  std::string quoted() {
    expect_raw('"');
    std::string result;
    while (true) {
      if (position_ >= text_.size()) fail("a text has no closing quote");
      char c = text_[position_++];
      if (c == '"') break;
      // Whatever follows is taken as it is: the printer escapes quotes and
      // backslashes alone.
      if (c == '\\' && position_ < text_.size()) c = text_[position_++];
      result += c;
    }
    skip_space();
    return result;
  }

  void expect_raw(char c) {
    if (position_ >= text_.size() || text_[position_] != c) {
      fail(fmt::format("expected '{}'", c));
    }
    ++position_;
  }

  template <class T>
  T number() {
    T value{};
    const char* begin = text_.data() + position_;
    // from_chars() knows no locale, whose comma would read another number.
    const auto [end, error] =
        std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected a number");
    position_ += static_cast<std::size_t>(end - begin);
    skip_space();
    return value;
  }

  // --- Types and attributes ----------------------------------------------
  DType dtype() {
    const auto name = word("a dtype");
    const auto found = dtype_from_string(name);
    if (!found) fail(fmt::format("'{}' is not a dtype", name));
    return *found;
  }

  Shape shape() {
    expect("[");
    Shape shape;
    if (accept("]")) return shape;
    do {
      const std::size_t begin = position_;
      while (position_ < text_.size() && text_[position_] != ',' &&
             text_[position_] != ']') {
        ++position_;
      }
      // A dim may be a formula of symbols, which has a parser of its own.
      std::string_view dim = text_.substr(begin, position_ - begin);
      while (dim.ends_with(' ')) dim.remove_suffix(1);
      // The shape itself would throw, but without the place.
      if (shape.rank() == Shape::kMaxRank) fail("too many dims");
      try {
        shape.push_back(parse_dim(dim));
      } catch (const Error& error) {
        fail(error.message());
      }
    } while (accept(","));
    expect("]");
    return shape;
  }

  TensorType type() {
    const DType element = dtype();
    return {element, shape()};
  }

  Tensor constant(DType element) {
    const TensorType type{element, shape()};
    if (!type.shape.is_static()) fail("a constant has known dims");
    if (!is_addressable(type)) fail("the type is larger than any memory");
    // Every element takes at least one character of the rest of the text.
    std::int64_t count = 1;
    for (const Dim dim : type.shape) {
      if (dim != 0 && count > static_cast<std::int64_t>(text_.size()) / dim) {
        fail("the text is too short for this constant");
      }
      count *= dim;
    }
    Tensor tensor = Tensor::empty(type);
    expect("(");
    for (std::int64_t i = 0; i < count; ++i) {
      if (i > 0) expect(",");
      store(tensor, i);
    }
    expect(")");
    return tensor;
  }

  // Whether a conversion to `dtype` is defined. i64 is read as such.
  static bool fits(double value, DType dtype) {
    if (!is_integer(dtype)) return true;
    const bool is_signed = dtype != DType::kU8;
    const int bits = static_cast<int>(8 * size_of(dtype)) - is_signed;
    // All these limits are exact in a double, as the widest type here has 32
    // bits.
    const double most = std::ldexp(1.0, bits) - 1;
    return value == std::trunc(value) && value <= most &&
           value >= (is_signed ? -most - 1 : 0);
  }

  void store(Tensor& tensor, std::int64_t index) {
    if (tensor.dtype() == DType::kI64) {
      // A double would round numbers beyond 2^53.
      tensor.data<std::int64_t>()[index] = number<std::int64_t>();
      // Constants of narrower integers are written with it, so it is taken here
      // too.
      if (accept(".0")) return;
      return;
    }
    const double value = number<double>();
    if (!fits(value, tensor.dtype())) {
      fail(fmt::format("{} is no {}", value, to_string(tensor.dtype())));
    }
    // The scalar rounds to the dtype as a program's constant would.
    const Tensor element = Tensor::scalar(value, tensor.dtype());
    const std::size_t size = size_of(tensor.dtype());
    std::memcpy(static_cast<std::byte*>(tensor.raw()) +
                    static_cast<std::size_t>(index) * size,
                element.raw(), size);
  }

  Integers integers() {
    expect("[");
    Integers values;
    if (accept("]")) return values;
    do {
      values.push_back(number<std::int64_t>());
    } while (accept(","));
    expect("]");
    return values;
  }

  Attribute attribute() {
    if (position_ >= text_.size()) fail("expected a value");
    const char c = text_[position_];
    // The first character tells the kind, which is why none needs a mark of its
    // own.
    if (c == '"') return quoted();
    if (c == '[') return integers();
    if (c == '@') return reference();
    if (c == '-' || std::isdigit(static_cast<unsigned char>(c)) ||
        text_.substr(position_, 3) == "inf" ||
        text_.substr(position_, 3) == "nan") {
      return numeric();
    }
    if (accept("true")) return true;
    if (accept("false")) return false;
    if (accept("shape")) return shape();
    // What is left is a dtype, alone or in front of a constant; words that are
    // none fail there.
    const DType element = dtype();
    // A dtype with a shape begins a constant; alone it is an attribute itself.
    if (position_ < text_.size() && text_[position_] == '[') {
      return constant(element);
    }
    return element;
  }

  FunctionRef reference() {
    const std::size_t begin = position_;
    expect_raw('@');
    std::string name(word("the name of a function"));
    Signature signature;
    expect("(");
    signature.parameters = types(")");
    expect("->");
    expect("(");
    signature.results = types(")");
    FunctionRef result{std::move(name),
                       std::make_shared<Signature>(std::move(signature))};
    references_.emplace_back(begin, result);
    return result;
  }

  Attribute numeric() {
    std::size_t end = position_ + 1;
    while (end < text_.size() &&
           (is_word(text_[end]) || ((text_[end] == '-' || text_[end] == '+') &&
                                    text_[end - 1] == 'e'))) {
      ++end;
    }
    const auto token = text_.substr(position_, end - position_);
    // The printer writes reals so that one of these always stands in them.
    if (token.find_first_of(".einf") == token.npos) {
      return number<std::int64_t>();
    }
    return number<double>();
  }

  Attributes attributes() {
    // Far more than any op has; looking a name up takes time.
    constexpr int kMost = 64;
    Attributes result;
    if (!accept("{")) return result;
    int count = 0;
    do {
      if (++count > kMost) fail("too many attributes");
      const auto name = word("an attribute's name");
      expect("=");
      if (result.find(name) != nullptr) fail("an attribute is given twice");
      result.set(std::string(name), attribute());
    } while (accept(","));
    expect("}");
    return result;
  }

  // --- Functions ---------------------------------------------------------
  int value_number() {
    expect_raw('%');
    return number<int>();
  }

  ValueId known_value() {
    const int number = value_number();
    const auto found = values_.find(number);
    if (found == values_.end()) {
      fail(fmt::format("%{} is not defined before its use", number));
    }
    return found->second;
  }

  void define(int number, ValueId id) {
    if (!values_.emplace(number, id).second) {
      fail(fmt::format("%{} is defined twice", number));
    }
  }

  Function function() {
    // Numbers name values within one function. They need not be in order, as
    // the text may have been edited.
    values_.clear();
    expect("func");
    expect_raw('@');
    Function function{std::string(word("a name"))};
    parameters(function);
    sizes_ = symbols_of_parameters(function);
    expect("->");
    expect("(");
    std::vector<TensorType> result_types = types(")");
    expect("{");
    // A node begins with a value's number, so the word can only end the body.
    while (!accept("return")) node(function);
    std::vector<ValueId> results;
    if (text_.substr(position_, 1) == "%") {
      do {
        results.push_back(known_value());
      } while (accept(","));
    }
    // The text states what inference would find. A text that was written for
    // ops of another meaning fails here, not in a kernel.
    check_types(function, results, result_types, "the results");
    function.set_results(std::move(results));
    expect("}");
    return function;
  }

  void parameters(Function& function) {
    std::unordered_set<std::string> names;
    expect("(");
    if (accept(")")) return;
    do {
      const int number = value_number();
      std::string name;
      if (text_.substr(position_, 1) == "\"") name = quoted();
      if (!name.empty() && !names.insert(name).second) {
        fail("there are two parameters of this name");
      }
      expect(":");
      const TensorType stated = type();
      if (!is_addressable(stated)) fail("the type is larger than any memory");
      define(number, function.add_parameter(stated, std::move(name)));
    } while (accept(","));
    expect(")");
  }

  std::vector<TensorType> types(std::string_view close) {
    std::vector<TensorType> result;
    if (accept(close)) return result;
    do {
      result.push_back(type());
    } while (accept(","));
    expect(close);
    return result;
  }

  void node(Function& function) {
    std::vector<int> outputs;
    do {
      outputs.push_back(value_number());
    } while (accept(","));
    expect("=");
    const auto name = word("the name of an op");
    expect("(");
    std::vector<ValueId> inputs;
    if (!accept(")")) {
      do {
        inputs.push_back(known_value());
      } while (accept(","));
      expect(")");
    }
    const Attributes given = attributes();
    // The op infers its types first, and what the text says is compared with
    // them.
    const std::vector<ValueId> ids = infer(function, name, inputs, given);
    if (!has_known_sizes(function, function.nodes().back(), sizes_)) {
      fail(fmt::format("no parameter tells a size of {}", name));
    }
    expect(":");
    std::vector<TensorType> stated;
    do {
      stated.push_back(type());
    } while (accept(","));
    check_types(function, ids, stated, std::string(name));
    if (ids.size() != outputs.size()) fail("the number of results differs");
    for (std::size_t i = 0; i < ids.size(); ++i) define(outputs[i], ids[i]);
  }

  std::vector<ValueId> infer(Function& function, std::string_view name,
                             const std::vector<ValueId>& inputs,
                             const Attributes& given) {
    try {
      return function
          .add_node(op_registry().get(name), inputs, given, Location())
          .outputs;
      // The reason is the op's; the place is the text's.
    } catch (const Error& error) {
      fail(error.what());
    }
  }

  void check_types(const Function& function, const std::vector<ValueId>& ids,
                   const std::vector<TensorType>& stated,
                   const std::string& what) {
    if (ids.size() != stated.size()) {
      fail(fmt::format("{}: {} values, but {} types", what, ids.size(),
                       stated.size()));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!(function.type(ids[i]) == stated[i])) {
        fail(fmt::format("{}: the text says {}, but it is {}", what,
                         to_string(stated[i]),
                         to_string(function.type(ids[i]))));
      }
    }
  }

  std::string_view text_;
  std::string_view source_;
  std::size_t position_ = 0;
  std::unordered_map<int, ValueId> values_;
  Bindings sizes_;  // symbols of the function's parameters
  // Where functions are named; they may stand further down.
  std::vector<std::pair<std::size_t, FunctionRef>> references_;
};

}  // namespace

Graph parse_graph(std::string_view text, std::string_view source) {
  Graph graph = Parser(text, source).graph();
  // What the syntax cannot say is checked as for a graph that a program built.
  verify(graph);
  return graph;
}

}  // namespace weft
