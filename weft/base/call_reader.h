// Reads the text form in which recipes and commands choose an entry of a
// registry together with its options:
//
//   call    := name ["(" [option ("," option)*] ")"]
//   option  := [name "="] literal    names may be left out of the first ones
//   literal := number | quantity | "true" | "false" | word | place | call
//            | '"' text '"'
//            | "[" [literal ("," literal)*] "]"    of integers, or of texts
//
// A quantity is a number with a unit: 20ms, 5%. A place is the address of a
// machine or the path of a file, a text with a colon or a slash in it:
// 10.0.0.1:7070, keys/run.key.
//
// A call within a call is the value of an option whose text it is:
// "residual([conv2d(16), relu])"; up to 32 brackets may be within each other.
//
// A grammar that is built from calls (weft/comm/codec/pipeline_text.h) reads
// what stands between them by take() and take_name().
//
// Threads: caller synchronises.
// Errors:  Error(kInvalidArgument) that quotes the text, with a caret under the
//          place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/registry.h"

namespace weft {

// An entry of a registry with its options, which are complete.
template <class Def>
struct Call {
  const Def* def = nullptr;
  Options options;
  std::size_t place = 0;  // of the name, in the text
};

class CallReader {
 public:
  // `kind` is what the text is in messages: "codec". The text is not copied.
  CallReader(std::string_view text, std::string kind);

  std::string_view text() const { return text_; }
  std::size_t place() const { return at_; }
  bool is_at_end() const { return at_ == text_.size(); }
  // What is next; the text must not be at its end.
  char peek() const { return text_[at_]; }

  // Takes `c` and the space after it, if it is next.
  bool take(char c);
  // The longest run of letters, digits, underscores and, within it, hyphens
  // ("fit-poly"), and the space after it. Throws where there is none: `what` is
  // due then.
  std::string_view take_name(std::string_view what);
  // "(option, …)", or nothing; completed by `schema`, which is that of `name`.
  Options take_options(std::string_view name,
                       const std::vector<OptionSpec>& schema);
  // A name of the registry's and its options.
  template <class Def>
  Call<Def> take_call(const Registry<Def>& registry) {
    const std::size_t place = at_;
    const std::string_view name = take_name("a name");
    const Def& def =
        at(place, [&]() -> const Def& { return registry.get(name); });
    return {&def, take_options(def.name, def.options), place};
  }
  // Throws unless all of the text was taken.
  void expect_end() const;

  Error fail(std::size_t place, std::string message) const;
  // Runs `body`; what it refuses happened at `place`.
  template <class Body>
  decltype(auto) at(std::size_t place, Body&& body) const;

 private:
  bool take_end_of_options();
  void take_option(std::string_view owner,
                   const std::vector<OptionSpec>& schema, Options& given);
  const std::string& name_by_place(std::string_view owner,
                                   const std::vector<OptionSpec>& schema,
                                   const Options& given,
                                   std::size_t place) const;
  std::string take_option_name();
  OptionValue take_literal();
  OptionValue take_inner_call(std::size_t begin);
  OptionValue take_quoted();
  OptionValue take_list();

  std::string_view text_;
  std::string kind_;
  std::size_t at_ = 0;
};

// `error` with the text and a caret under `place` below its message.
Error at_place(Error error, std::string_view text, std::size_t place);

// A text that is one call: "lookahead(steps=5, alpha=0.5)".
template <class Def>
Call<Def> parse_call(std::string_view text, const Registry<Def>& registry,
                     std::string kind) {
  CallReader reader(text, std::move(kind));
  Call<Def> call = reader.take_call(registry);
  reader.expect_end();
  return call;
}

// Canonical: "qsgd(bits=7, …)", every option written out in the order of the
// schema, so that it can be read again; the name alone where there are none.
std::string call_text(std::string_view name,
                      const std::vector<OptionSpec>& schema,
                      const Options& options);

template <class Def>
std::string to_string(const Call<Def>& call) {
  return call_text(call.def->name, call.def->options, call.options);
}

template <class Def>
std::vector<EntryOptions> entries_of(const Registry<Def>& registry) {
  std::vector<EntryOptions> entries;
  for (const Def& def : registry.all()) {
    entries.push_back({def.name, def.summary, def.options, registry.kind()});
  }
  return entries;
}

// Calls of the entries of a registry, for OptionSpec::calls:
// calls_of<layer_registry>().
template <auto registry>
const CallKind* calls_of() {
  static constexpr CallKind kKind{
      .canonical =
          [](std::string_view text) {
            return to_string(parse_call(text, registry(), registry().kind()));
          },
      .entries = [] { return entries_of(registry()); }};
  return &kKind;
}

// The same without the options that have their defaults, for people:
// "blueconnect(factors=[4, 8])".
std::string brief_call_text(std::string_view name,
                            const std::vector<OptionSpec>& schema,
                            const Options& options);

// The name of a call that is looked up before its options can be read.
std::string_view name_of_call(std::string_view text, std::string kind);

// The values of a text that has several, separated by commas; a comma within
// parentheses, brackets, braces or quotation marks separates nothing:
// "qsgd(4, bucket=64), 3lc" are two. Each is a part of `text`, without the
// space around it. A text whose brackets or quotation marks are not closed is
// one value, for whoever reads it to refuse. Throws for an empty value among
// several.
std::vector<std::string_view> split_values(std::string_view text,
                                           std::string kind);

template <class Body>
decltype(auto) CallReader::at(std::size_t place, Body&& body) const {
  try {
    return body();
  } catch (const Error& error) {
    throw at_place(error, text_, place);
  }
}

}  // namespace weft
