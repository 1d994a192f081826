#include "weft/base/call_reader.h"

#include <algorithm>
#include <charconv>
#include <fmt/ranges.h>

namespace weft {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(std::string_view text) {
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c); });
}
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

std::size_t past_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// What is open between the begin of a text and a place in it.
class Nesting {
 public:
  // The next character.
  void pass(char c) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (quote_ != 0) {
      // TOML has escapes between double quotation marks.
      is_escaped_ = c == '\\' && quote_ == '"';
      if (c == quote_) quote_ = 0;
    } else if (c == '"' || c == '\'') {
      quote_ = c;
    } else if (c == '(' || c == '[' || c == '{') {
      closing_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (!closing_.empty() && c == closing_.back()) {
      closing_.pop_back();
    }
  }
  bool is_open() const { return quote_ != 0 || !closing_.empty(); }

 private:
  std::string closing_;  // of each bracket, the innermost last
  char quote_ = 0;
  bool is_escaped_ = false;
};

// Behind the parenthesis that closes the one at `begin`; npos if none does.
std::size_t end_of_parenthesis(std::string_view text, std::size_t begin) {
  Nesting nesting;
  for (std::size_t i = begin; i < text.size(); ++i) {
    nesting.pass(text[i]);
    if (!nesting.is_open()) return i + 1;
  }
  return std::string_view::npos;
}

// "ball(radius=2)", and nothing behind it.
bool is_call(std::string_view text) {
  const std::size_t open = text.find('(');
  return open != std::string_view::npos && is_word(text.substr(0, open)) &&
         end_of_parenthesis(text, open) == text.size();
}

std::string literal(const OptionValue& value) {
  // What reads as a word or as a call is written without quotation marks, and
  // what does not is quoted, so that the text can be read again.
  const auto* text = std::get_if<std::string>(&value);
  const bool is_bare = text != nullptr && (is_word(*text) || is_call(*text));
  return is_bare ? *text : to_string(value);
}

}  // namespace

CallReader::CallReader(std::string_view text, std::string kind)
    : text_(text), kind_(std::move(kind)), at_(past_space(text, 0)) {}

Error CallReader::fail(std::size_t place, std::string message) const {
  return at_place(Error(ErrorCode::kInvalidArgument, kind_, std::move(message)),
                  text_, place);
}

void CallReader::expect_end() const {
  if (is_at_end()) return;
  throw fail(at_, fmt::format("'{}' is not expected here", peek()));
}

bool CallReader::take(char c) {
  if (is_at_end() || peek() != c) return false;
  at_ = past_space(text_, at_ + 1);
  return true;
}

std::string_view CallReader::take_name(std::string_view what) {
  const std::size_t begin = at_;
  while (!is_at_end() && (is_letter(peek()) || is_digit(peek()) ||
                          (peek() == '-' && at_ > begin))) {
    ++at_;
  }
  const auto name = text_.substr(begin, at_ - begin);
  if (name.empty()) throw fail(begin, fmt::format("{} is due here", what));
  at_ = past_space(text_, at_);
  return name;
}

Options CallReader::take_options(std::string_view name,
                                 const std::vector<OptionSpec>& schema) {
  Options given;
  if (take('(')) {
    bool is_first = true;
    while (is_first ? !take(')') : !take_end_of_options()) {
      take_option(name, schema, given);
      is_first = false;
    }
  }
  return complete(schema, given, name);
}

// Takes what follows an option: true at ')', false at ','.
bool CallReader::take_end_of_options() {
  if (take(')')) return true;
  if (!take(',')) throw fail(at_, "a ',' or ')' is due here");
  return false;
}

void CallReader::take_option(std::string_view owner,
                             const std::vector<OptionSpec>& schema,
                             Options& given) {
  const std::size_t place = at_;
  std::string name = take_option_name();
  if (name.empty()) {
    if (!given.empty() || schema.empty()) {
      throw fail(place, schema.empty() ? fmt::format("{} has no options", owner)
                                       : "this option needs its name")
          .hint("only the first may go without: qsgd(7, bucket=64)");
    }
    name = schema[0].name;
  }
  if (given.contains(name)) {
    throw fail(place, fmt::format("option '{}' is given twice", name));
  }
  const OptionValue value = take_literal();
  // It is completed by itself, so that what is wrong with it is said at its
  // place.
  at(place, [&] { complete(schema, {{name, value}}, owner); });
  given[name] = value;
}

// "name =", or nothing.
std::string CallReader::take_option_name() {
  const std::size_t begin = at_;
  if (!is_at_end() && is_letter(peek())) {
    std::string name(take_name("the name of an option"));
    if (take('=')) return name;
  }
  // What was read may be the value of an option without its name.
  at_ = begin;
  return "";
}

OptionValue CallReader::take_literal() {
  if (!is_at_end() && peek() == '"') return take_quoted();
  if (!is_at_end() && peek() == '[') return take_list();
  const std::size_t begin = at_;
  while (!is_at_end() && (is_letter(peek()) || is_digit(peek()) ||
                          peek() == '.' || peek() == '-' || peek() == '+')) {
    ++at_;
  }
  const auto word = text_.substr(begin, at_ - begin);
  if (word.empty()) throw fail(begin, "a value is due here");
  if (is_word(word) && !is_at_end() && peek() == '(') {
    at_ = begin;
    return take_inner_call();
  }
  at_ = past_space(text_, at_);
  if (word == "true" || word == "false") return word == "true";
  // This comes before numbers, as from_chars() would take "inf" and "nan" for
  // some.
  if (is_word(word)) return std::string(word);
  const char* end = word.data() + word.size();
  std::int64_t integer = 0;
  // What can be an integer is one: options of that type refuse a real number.
  if (const auto read = std::from_chars(word.data(), end, integer);
      read.ec == std::errc() && read.ptr == end) {
    return integer;
  }
  double number = 0;
  if (const auto read = std::from_chars(word.data(), end, number);
      read.ec == std::errc() && read.ptr == end) {
    return number;
  }
  throw fail(begin, fmt::format("'{}' is no value", word));
}

OptionValue CallReader::take_inner_call() {
  const std::size_t begin = at_;
  const std::size_t open = text_.find('(', begin);
  const std::size_t end = end_of_parenthesis(text_, open);
  if (end == std::string_view::npos) {
    throw fail(open, "this parenthesis is not closed");
  }
  at_ = past_space(text_, end);
  return std::string(text_.substr(begin, end - begin));
}

OptionValue CallReader::take_quoted() {
  const std::size_t begin = at_;
  // There are no escapes: no value of an option needs a quotation mark.
  const std::size_t end = text_.find('"', begin + 1);
  if (end == std::string_view::npos) {
    throw fail(begin, "this quotation mark is not closed");
  }
  at_ = past_space(text_, end + 1);
  return std::string(text_.substr(begin + 1, end - begin - 1));
}

namespace {

// Where the commas are that stand in no brackets and no quotation marks; none
// if some of these are not closed.
std::vector<std::size_t> outer_commas(std::string_view text) {
  std::vector<std::size_t> commas;
  Nesting nesting;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' && !nesting.is_open()) commas.push_back(i);
    nesting.pass(text[i]);
  }
  if (nesting.is_open()) commas.clear();
  return commas;
}

}  // namespace

std::vector<std::string_view> split_values(std::string_view text,
                                           std::string kind) {
  std::vector<std::string_view> values;
  std::vector<std::size_t> ends = outer_commas(text);
  ends.push_back(text.size());
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    std::size_t first = past_space(text.substr(0, end), begin);
    std::size_t last = end;
    while (last > first && is_space(text[last - 1])) --last;
    if (first == last && ends.size() > 1) {
      throw at_place(Error(ErrorCode::kInvalidArgument, std::move(kind),
                           std::string("a value is due here")),
                     text, end);
    }
    values.push_back(text.substr(first, last - first));
    begin = end + 1;
  }
  return values;
}

OptionValue CallReader::take_list() {
  const std::size_t begin = at_;
  take('[');
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  for (std::size_t count = 0; !take(']'); ++count) {
    if (count > 0 && !take(',')) throw fail(at_, "a ',' or ']' is due here");
    const OptionValue value = take_literal();
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      integers.push_back(*integer);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      texts.push_back(*text);
    }
    const bool is_mixed = !integers.empty() && !texts.empty();
    if (is_mixed || integers.size() + texts.size() <= count) {
      throw fail(begin, "a list is one of integers or one of texts");
    }
  }
  if (texts.empty()) return integers;
  return texts;
}

Error at_place(Error error, std::string_view text, std::size_t place) {
  std::string line(text);
  // A tab or a line break would put the caret below another column.
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; },
      ' ');
  // A caret counts columns, and UTF-8 continues with bytes 10xxxxxx.
  const auto columns = std::count_if(
      line.begin(), line.begin() + static_cast<std::ptrdiff_t>(place),
      [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  error.detail(line);
  error.detail(std::string(static_cast<std::size_t>(columns), ' ') + '^');
  return error;
}

std::string call_text(std::string_view name,
                      const std::vector<OptionSpec>& schema,
                      const Options& options) {
  std::vector<std::string> written;
  for (const OptionSpec& spec : schema) {
    written.push_back(spec.name + '=' + literal(options.at(spec.name)));
  }
  if (written.empty()) return std::string(name);
  return fmt::format("{}({})", name, fmt::join(written, ", "));
}

std::string brief_call_text(std::string_view name,
                            const std::vector<OptionSpec>& schema,
                            const Options& options) {
  std::vector<OptionSpec> changed;
  std::ranges::copy_if(schema, std::back_inserter(changed),
                       [&](const OptionSpec& spec) {
                         return options.at(spec.name) != spec.value;
                       });
  return call_text(name, changed, options);
}

std::string_view name_of_call(std::string_view text, std::string kind) {
  return CallReader(text, std::move(kind)).take_name("a name");
}

}  // namespace weft
