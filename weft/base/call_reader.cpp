#include "weft/base/call_reader.h"

#include <algorithm>
#include <charconv>
#include <fmt/ranges.h>
#include <ranges>

namespace weft {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(std::string_view text) {
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [](char c) {
           return is_letter(c) || is_digit(c) || c == '-';
         });
}
bool is_unit(std::string_view text) {
  return text == "%" || std::ranges::all_of(text, is_letter);
}
bool is_place(std::string_view text) {
  return text.find_first_of(":/") != text.npos;
}
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

std::size_t past_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// Whoever reads a call within a call reads the next one within that.
constexpr std::size_t kMostBrackets = 32;

// Gives the place behind the bracket that closes the one at `at`; npos if none
// does, or too many are within each other. What is between quotation marks
// opens and closes nothing.
std::size_t past_brackets(std::string_view text, std::size_t at) {
  std::string open;  // what closes each bracket, the innermost last
  bool is_quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    if (c == '(' || c == '[') open += c == '(' ? ')' : ']';
    if (open.size() > kMostBrackets) break;
    if (c != ')' && c != ']') continue;
    if (open.empty() || open.back() != c) break;
    open.pop_back();
    if (open.empty()) return at + 1;
  }
  return std::string_view::npos;
}

// Whether the text reads as itself without quotation marks: a word, or a call.
bool is_bare(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) {
    return is_word(text) && text != "true" && text != "false";
  }
  return is_word(text.substr(0, open)) &&
         past_brackets(text, open) == text.size();
}

// So that the text can be read again.
std::string literal(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return is_bare(*text) ? *text : to_string(value);
  }
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  if (texts == nullptr) return to_string(value);
  std::vector<std::string> written;
  for (const std::string& text : *texts) written.push_back(literal(text));
  return fmt::format("[{}]", fmt::join(written, ", "));
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
  for (const OptionSpec& spec : schema) {
    if (!given.contains(spec.name)) given[spec.name] = default_of(spec);
  }
  return given;
}

// It takes what follows an option: true at ')', false at ','.
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
  if (name.empty()) name = name_by_place(owner, schema, given, place);
  if (given.contains(name)) {
    throw fail(place, fmt::format("option '{}' is given twice", name));
  }
  const OptionValue value = take_literal();
  // It is completed by itself, so that what is wrong with it is said at its
  // place.
  given[name] = at(place, [&] {
    return complete(schema, {{name, value}}, owner).at(name);
  });
}

// Names an option whose name is left out: those before it must be the first
// ones of the schema, so that a reader can count.
const std::string& CallReader::name_by_place(
    std::string_view owner, const std::vector<OptionSpec>& schema,
    const Options& given, std::size_t place) const {
  const auto in_order = std::ranges::count_if(
      schema | std::views::take(given.size()),
      [&](const OptionSpec& spec) { return given.contains(spec.name); });
  const auto number = static_cast<std::size_t>(in_order);
  if (number < given.size()) {
    throw fail(place, "this option needs its name")
        .hint("only the first ones may go without: qsgd(7, bucket=64)");
  }
  if (number < schema.size()) return schema[number].name;
  throw fail(place, schema.empty()
                        ? fmt::format("{} has no options", owner)
                        : fmt::format("{} has no more options", owner));
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
  while (!is_at_end() &&
         (is_letter(peek()) || is_digit(peek()) ||
          std::string_view(".-+%:/").find(peek()) != std::string_view::npos)) {
    ++at_;
  }
  const auto word = text_.substr(begin, at_ - begin);
  if (word.empty()) throw fail(begin, "a value is due here");
  at_ = past_space(text_, at_);
  if (is_word(word) && !is_at_end() && peek() == '(') {
    return take_inner_call(begin);
  }
  if (word == "true" || word == "false") return word == "true";
  // This comes before numbers, as from_chars() would take "inf" and "nan" for
  // some.
  if (is_word(word) || is_place(word)) return std::string(word);
  const char* end = word.data() + word.size();
  std::int64_t integer = 0;
  // What can be an integer is one: options of that type refuse a real number.
  if (const auto read = std::from_chars(word.data(), end, integer);
      read.ec == std::errc() && read.ptr == end) {
    return integer;
  }
  double number = 0;
  // from_chars() knows no locale, in which 0.5 might be written 0,5.
  const auto read = std::from_chars(word.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end) return number;
  // Which units there are depends on the option.
  if (read.ec == std::errc() && is_unit({read.ptr, end})) {
    return std::string(word);
  }
  throw fail(begin, fmt::format("'{}' is no value", word));
}

OptionValue CallReader::take_inner_call(std::size_t begin) {
  const std::size_t end = past_brackets(text_, at_);
  if (end == std::string_view::npos) {
    throw fail(at_, fmt::format("this bracket is not closed, or holds more "
                                "than {} within each other",
                                kMostBrackets));
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
  std::string open;  // what closes each bracket, the innermost last
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      // TOML has escapes between double quotation marks.
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (!open.empty() && c == open.back()) {
      open.pop_back();
    } else if (c == ',' && open.empty()) {
      commas.push_back(i);
    }
  }
  // What is not closed is told by whoever reads the value, which must get it
  // whole.
  if (quote != 0 || !open.empty()) commas.clear();
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
    // A value that is neither leaves the two lists shorter than the count.
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
  // What has its default is known without being written.
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
