#include "weft/comm/collective/all_reduce.h"

#include <charconv>

namespace weft {
namespace {

OptionValue parse_value(std::string_view text, const OptionValue& like,
                        std::string_view where) {
  if (std::holds_alternative<std::string>(like)) return std::string(text);
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorCode::kInvalidArgument, where, "'{}' is not an integer",
                text);
  }
  return number;
}

// "factors=4,64 chunks=2", or "4,64 chunks=2"
Options parse_options(std::string_view text,
                      const std::vector<OptionSpec>& schema,
                      std::string_view where) {
  Options options;
  while (!text.empty()) {
    const auto space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == text.npos ? text.size() : space + 1);
    if (word.empty()) continue;
    const auto equals = word.find('=');
    const bool is_named = equals != word.npos;
    // Only the first option may go without its name, as in "blueconnect(4,8)".
    if (!is_named && (schema.empty() || !options.empty())) {
      throw Error(ErrorCode::kInvalidArgument, where, "'{}' {}", word,
                  schema.empty() ? "stands where there are no options"
                                 : "is not of the form option=value")
          .hint("only the first may go without its name");
    }
    const std::string name =
        is_named ? std::string(word.substr(0, equals)) : schema[0].name;
    const std::string_view value = is_named ? word.substr(equals + 1) : word;
    // An option that the schema does not know stays as text: complete() refuses
    // it, with the names that there are.
    options[name] = std::string(value);
    for (const OptionSpec& spec : schema) {
      if (spec.name == name) {
        options[name] = parse_value(value, spec.value, where);
      }
    }
  }
  return options;
}

std::string describe(const AllReduceDef& def, const Options& options) {
  std::string list;
  for (const OptionSpec& spec : def.options) {
    const OptionValue& value = options.at(spec.name);
    // Ranks compare this text, so options that are spelled differently and mean
    // the same must give the same.
    if (value == spec.value) continue;
    list += list.empty() ? "" : " ";
    list += spec.name + "=";
    list += std::holds_alternative<std::string>(value)
                ? std::get<std::string>(value)
                : to_string(value);
  }
  return list.empty() ? def.name : fmt::format("{}({})", def.name, list);
}

std::string_view name_in(std::string_view text) {
  return text.substr(0, text.find('('));
}

std::string_view options_in(std::string_view text) {
  const auto open = text.find('(');
  if (open == text.npos) return "";
  if (text.back() != ')') {
    throw Error(ErrorCode::kInvalidArgument, "all_reduce", "no ')' ends '{}'",
                text);
  }
  return text.substr(open + 1, text.size() - open - 2);
}

}  // namespace

AllReduce::AllReduce(const AllReduceDef& def, const Options& given)
    : def_(&def),
      options_(complete(def.options, given, def.name)),
      text_(describe(def, options_)) {
  const std::string mistake = def.mistake(options_);
  if (mistake.empty()) return;
  throw Error(ErrorCode::kInvalidArgument, text_, mistake);
}

AllReduce::AllReduce(std::string_view text)
    : AllReduce(all_reduce_registry().get(name_in(text)),
                parse_options(options_in(text),
                              all_reduce_registry().get(name_in(text)).options,
                              name_in(text))) {}

PreparedAllReduce AllReduce::prepare(Communicator& communicator, DType dtype,
                                     std::size_t count, std::string_view name,
                                     int priority) const {
  // Refusals look at the sizes of levels alone: here it is their number of
  // ranks that is asked about.
  const Topology flat{{{communicator.size(), 0, 0}}};
  std::string reason = refusal(flat);
  if (!is_summable(dtype)) {
    reason = fmt::format("there are no sums of {}", to_string(dtype));
  }
  if (!reason.empty()) {
    throw Error(ErrorCode::kUnsupported, text_, "{}", reason);
  }
  // Ranks compare this text, so those that disagree about the dtype, the count
  // or the algorithm are told, and never add each other's bytes.
  const OperationInfo info{fmt::format("all_reduce({})", text_),
                           fmt::format("{}[{}]{}{}", to_string(dtype), count,
                                       name.empty() ? "" : " ", name),
                           priority};
  return {def_, options_, communicator, {dtype, nullptr, count}, info};
}

PreparedAllReduce::PreparedAllReduce(const AllReduceDef* def, Options options,
                                     Communicator& communicator,
                                     DenseBuffer shape,
                                     const OperationInfo& info)
    : def_(def),
      options_(std::move(options)),
      communicator_(&communicator),
      shape_(shape),
      operation_(info) {}

Task<> PreparedAllReduce::run(std::byte* data) const {
  std::vector<Channel> channels;
  for (int i = 0; i < def_->operations(options_); ++i) {
    // This is no coroutine, so that operations are entered when run() is
    // called, in the same order on all ranks, whenever the task is started.
    channels.push_back(communicator_->open(operation_));
  }
  // Alone there is nothing to exchange; the operations above were counted all
  // the same, as on any other number of ranks.
  if (communicator_->size() == 1) return all_of({});
  return def_->run(std::move(channels), {shape_.dtype, data, shape_.count},
                   options_);
}

std::string never_refused(const Options&, const Topology&) { return ""; }

std::vector<Options> only_defaults(const Topology&) { return {{}}; }

}  // namespace weft
