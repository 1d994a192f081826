#include "weft/comm/codec/pipeline_text.h"

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

template <class Codec>
void append_names(const Registry<CodecDef<Codec>>& registry,
                  std::vector<std::string>& names) {
  for (const auto& def : registry.all()) names.push_back(def.name);
}

// Reads one text from its beginning to its end.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  PipelineText parse() {
    skip_space();
    if (at_ == text_.size()) {
      throw fail(at_, "a pipeline needs a stage")
          .hint("\"none\" sends plain f32");
    }
    for (;;) {
      read_part();
      if (!take('|')) break;
    }
    if (at_ < text_.size()) {
      throw fail(at_, fmt::format("'{}' is not expected here", text_[at_]));
    }
    return std::move(pipeline_);
  }

 private:
  // What a part of the pipeline holds, in the order in which parts stand.
  enum class Part { kNone, kSparsifier, kCodecs, kBytes };

  // An option as written, before it is known what it may be.
  struct GivenOption {
    std::string name;  // empty: left out
    OptionValue value;
    std::size_t place;
  };

  Error fail(std::size_t place, std::string message) const {
    return at_place(Error(ErrorCode::kInvalidArgument, std::string("codec"),
                          std::move(message)),
                    text_, place);
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  // Takes `c` and the space after it, if it is next.
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_space();
    return true;
  }
  // The longest run of letters, digits and, within it, hyphens ("fit-poly"),
  // and the space after it.
  std::string_view take_name(std::string_view what) {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || is_digit(text_[at_]) ||
            (text_[at_] == '-' && at_ > begin))) {
      ++at_;
    }
    const auto name = text_.substr(begin, at_ - begin);
    if (name.empty()) throw fail(begin, fmt::format("{} is due here", what));
    skip_space();
    return name;
  }

  void read_part() {
    Part part = Part::kNone;
    do {
      const std::size_t place = at_;
      const Part found = read_stage();
      // index: and value: are two stages of one part; of any other kind, a part
      // has one.
      if (part != Part::kNone && (found != part || part != Part::kCodecs)) {
        throw fail(place, "a '|' is due between two stages");
      }
      if (part == Part::kNone && found <= last_part_) {
        throw fail(place, found == Part::kCodecs
                              ? "index: and value: stand between the same '|'"
                              : "this stage stands too late")
            .hint("the order is: sparsifier | index:… value:… | byte codec");
      }
      part = found;
    } while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')' &&
             text_[at_] != ',');
    last_part_ = part;
  }

  Part read_stage() {
    std::size_t place = at_;
    std::string_view name = take_name("the name of a stage");
    if (take(':')) {
      const std::string_view kind = name;
      const std::size_t kind_place = place;
      place = at_;
      name = take_name("the name of a codec");
      if (kind == "index") {
        read_into(pipeline_.index, index_codec_registry(), name, place);
      } else if (kind == "value") {
        read_into(pipeline_.value, value_codec_registry(), name, place);
      } else {
        throw fail(kind_place, fmt::format("'{}:' is not known", kind))
            .hint("write index:CODEC or value:CODEC");
      }
      return Part::kCodecs;
    }
    // A name without its kind is looked for among the kinds that can go
    // without.
    if (sparsifier_registry().find(name) != nullptr) {
      read_into(pipeline_.sparsifier, sparsifier_registry(), name, place);
      return Part::kSparsifier;
    }
    if (byte_codec_registry().find(name) != nullptr) {
      read_into(pipeline_.bytes, byte_codec_registry(), name, place);
      return Part::kBytes;
    }
    if (value_codec_registry().find(name) == nullptr) {
      throw unknown_stage(name, place);
    }
    read_into(pipeline_.value, value_codec_registry(), name, place);
    return Part::kCodecs;
  }

  Error unknown_stage(std::string_view name, std::size_t place) const {
    if (index_codec_registry().find(name) != nullptr) {
      return fail(place, fmt::format("'{}' is an index codec", name))
          .hint(fmt::format("write index:{}", name));
    }
    std::vector<std::string> names;
    append_names(sparsifier_registry(), names);
    append_names(value_codec_registry(), names);
    append_names(byte_codec_registry(), names);
    const std::string near = nearest(name, names);
    return fail(place,
                fmt::format("no stage '{}'{}", name,
                            near.empty()
                                ? ""
                                : fmt::format(" (did you mean '{}'?)", near)))
        .detail(fmt::format("known: {}", fmt::join(names, ", ")));
  }

  // What is wrong with a stage or an option happened at its place.
  template <class Body>
  decltype(auto) at(std::size_t place, Body&& body) const {
    try {
      return body();
    } catch (const Error& error) {
      throw at_place(error, text_, place);
    }
  }

  template <class Codec>
  void read_into(std::optional<Stage<Codec>>& stage,
                 const Registry<CodecDef<Codec>>& registry,
                 std::string_view name, std::size_t place) {
    if (stage) {
      throw fail(place, fmt::format("'{}' already stands at this place",
                                    stage->def->name));
    }
    const CodecDef<Codec>& def = at(
        place, [&]() -> const auto& { return registry.get(name); });
    Options given;
    if (take('(')) {
      bool is_first = true;
      while (is_first ? !take(')') : !take_end_of_options()) {
        read_option(def.name, def.options, is_first, given);
        is_first = false;
      }
    }
    stage = {&def, complete(def.options, given, def.name), place};
  }

  // Takes what follows an option: true at ')', false at ','.
  bool take_end_of_options() {
    if (take(')')) return true;
    if (!take(',')) throw fail(at_, "a ',' or ')' is due here");
    return false;
  }

  void read_option(const std::string& stage,
                   const std::vector<OptionSpec>& schema, bool is_first,
                   Options& given) {
    const std::size_t place = at_;
    std::string name = take_option_name();
    if (name.empty()) {
      if (!is_first || schema.empty()) {
        throw fail(place, schema.empty()
                              ? fmt::format("{} has no options", stage)
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
    at(place, [&] { complete(schema, {{name, value}}, stage); });
    given[name] = value;
  }

  // "name =", or nothing.
  std::string take_option_name() {
    const std::size_t begin = at_;
    if (at_ < text_.size() && is_letter(text_[at_])) {
      std::string name(take_name("the name of an option"));
      if (take('=')) return name;
    }
    // What was read may be the value of an option without its name.
    at_ = begin;
    return "";
  }

  OptionValue take_literal() {
    if (at_ < text_.size() && text_[at_] == '"') return take_quoted();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || is_digit(text_[at_]) ||
            text_[at_] == '.' || text_[at_] == '-' || text_[at_] == '+')) {
      ++at_;
    }
    const auto word = text_.substr(begin, at_ - begin);
    if (word.empty()) throw fail(begin, "a value is due here");
    skip_space();
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

  OptionValue take_quoted() {
    const std::size_t begin = at_;
    // There are no escapes: no value of an option needs a quotation mark.
    const std::size_t end = text_.find('"', begin + 1);
    if (end == std::string_view::npos) {
      throw fail(begin, "this quotation mark is not closed");
    }
    at_ = end + 1;
    skip_space();
    return std::string(text_.substr(begin + 1, end - begin - 1));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Part last_part_ = Part::kNone;
  PipelineText pipeline_;
};

std::string literal(const OptionValue& value) {
  // What reads as a word is written without quotation marks, and what does not
  // is quoted, so that the text can be read again.
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr && is_word(*text) ? *text : to_string(value);
}

}  // namespace

PipelineText parse_pipeline(std::string_view text) {
  return Parser(text).parse();
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

template <class Codec>
std::string to_string(const Stage<Codec>& stage) {
  std::vector<std::string> options;
  for (const OptionSpec& spec : stage.def->options) {
    options.push_back(spec.name + '=' + literal(stage.options.at(spec.name)));
  }
  if (options.empty()) return stage.def->name;
  return fmt::format("{}({})", stage.def->name, fmt::join(options, ", "));
}

template std::string to_string(const Stage<Sparsifier>&);
template std::string to_string(const Stage<IndexCodec>&);
template std::string to_string(const Stage<ValueCodec>&);
template std::string to_string(const Stage<ByteCodec>&);

std::string to_string(const PipelineText& pipeline) {
  std::string text;
  const auto append = [&](std::string_view between, std::string_view prefix,
                          const auto& stage) {
    if (!stage) return;
    if (!text.empty()) text += between;
    text += prefix;
    text += to_string(*stage);
  };
  append("", "", pipeline.sparsifier);
  append(" | ", "index:", pipeline.index);
  append(pipeline.index ? " " : " | ", pipeline.index ? "value:" : "",
         pipeline.value);
  append(" | ", "", pipeline.bytes);
  return text;
}

}  // namespace weft
