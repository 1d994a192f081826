#include "weft/runtime/trace_file.h"

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/file.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;
using Form = ProfileEvent::Form;

constexpr double kMicroseconds = 1e6;
constexpr std::size_t kMostTraceBytes = std::size_t{1} << 30;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Form form_of(const std::string& phase, std::string_view where) {
  if (phase == "X") return Form::kSpan;
  if (phase == "b") return Form::kMessage;
  if (phase == "C") return Form::kQuantity;
  throw Error(ErrorCode::kDataLoss, where,
              "no trace of Weft: an event of phase '{}'", phase);
}

// Events of one kind share it, as they did when they were recorded.
class Kinds {
 public:
  SpanKindRef get(const Json& event) {
    SpanKind kind{event.at("name"), event.at("cat")};
    const Json& arguments = event.at("args");
    kind.detail = arguments.value("kernel", "");
    kind.flops = arguments.value("flops", 0.0);
    kind.bytes = arguments.value("bytes", 0.0);
    SpanKindRef& known = all_[text_of(
        {kind.name, kind.category, kind.detail, kind.flops, kind.bytes})];
    if (known == nullptr) known = span_kind(std::move(kind));
    return known;
  }

 private:
  std::map<std::string, SpanKindRef> all_;
};

}  // namespace

TraceWriter::TraceWriter(const std::filesystem::path& path) : file_(path) {
  file_ << "[\n";
  if (!file_) {
    throw Error(ErrorCode::kUnavailable, path.string(), "cannot be written");
  }
}

bool TraceWriter::close() {
  if (file_.is_open()) {
    file_ << "\n]\n";
    file_.close();
  }
  return file_.good();
}

void TraceWriter::write(std::span<const ProfileEvent> events) {
  for (const ProfileEvent& event : events) write(event);
  file_ << text_;
  text_.clear();
}

void TraceWriter::begin_line() {
  if (!is_empty_) text_ += ",\n";
  is_empty_ = false;
}

void TraceWriter::name(int thread) {
  begin_line();
  text_ += text_of({{"name", "thread_name"},
                    {"ph", "M"},
                    {"pid", 0},
                    {"tid", thread},
                    {"args", {{"name", profile::thread_name(thread)}}}});
}

const TraceWriter::KindText& TraceWriter::kind_text(const SpanKindRef& kind) {
  const auto [place, is_new] = kinds_.try_emplace(kind);
  KindText& text = place->second;
  if (!is_new) return text;
  text.head = fmt::format(R"("name":{},"cat":{})", text_of(kind->name),
                          text_of(kind->category));
  const auto add = [&](const char* name, const Json& value) {
    text.arguments += fmt::format(R"("{}":{},)", name, text_of(value));
  };
  if (!kind->detail.empty()) add("kernel", kind->detail);
  if (kind->flops > 0) add("flops", kind->flops);
  if (kind->bytes > 0) add("bytes", kind->bytes);
  return text;
}

// The clock's tenth of a microsecond is all that is worth its bytes.
void TraceWriter::write(const ProfileEvent& event) {
  if (named_.insert(event.thread).second) name(event.thread);
  const KindText& kind = kind_text(event.kind);
  std::string_view arguments = kind.arguments;
  const auto add = [&](char phase, double at, std::string_view more) {
    begin_line();
    fmt::format_to(std::back_inserter(text_),
                   R"({{{},"ph":"{}","ts":{:.1f},"pid":0,"tid":{},{}}})",
                   kind.head, phase, at * kMicroseconds, event.thread, more);
  };
  if (event.form == Form::kQuantity) {
    add('C', event.begin,
        fmt::format(R"("args":{{"value":{}}})", Json(event.value).dump()));
  } else if (event.form == Form::kSpan) {
    arguments.remove_suffix(arguments.empty() ? 0 : 1);  // the comma
    add('X', event.begin,
        fmt::format(R"("dur":{:.1f},"args":{{{}}})",
                    (event.end - event.begin) * kMicroseconds, arguments));
  } else {
    // Spans of one thread must nest; messages are on their way beside each
    // other.
    const std::string both =
        fmt::format(R"("id":{},"args":{{{}"seconds":{}}})", ++messages_,
                    arguments, event.end - event.begin);
    add('b', event.begin, both);
    add('e', event.end, both);
  }
}

void write_trace(const std::filesystem::path& path,
                 std::span<const ProfileEvent> events) {
  TraceWriter writer(path);
  writer.write(events);
  if (!writer.close()) {
    throw Error(ErrorCode::kUnavailable, path.string(),
                "cannot be written as a whole")
        .hint("free some space or choose another folder");
  }
}

std::vector<ProfileEvent> read_trace(const std::filesystem::path& path) {
  return parse_trace(read_text(path, kMostTraceBytes), path.string());
}

std::vector<ProfileEvent> parse_trace(std::string text,
                                      std::string_view where) {
  // A run that was killed may have left the end of its last line out.
  if (!text.ends_with("]\n")) {
    const std::size_t line = text.rfind(",\n");
    if (line == std::string::npos) {
      throw Error(ErrorCode::kDataLoss, where, "no trace of Weft");
    }
    text.resize(line);
    text += ']';
  }
  try {
    std::vector<ProfileEvent> events;
    Kinds kinds;
    for (const Json& json : Json::parse(text)) {
      const std::string phase = json.at("ph");
      // The name of a thread, and the other end of a message.
      if (phase == "M" || phase == "e") continue;
      ProfileEvent event;
      event.form = form_of(phase, where);
      event.kind = kinds.get(json);
      event.thread = json.at("tid");
      event.begin = json.at("ts").get<double>() / kMicroseconds;
      const Json& arguments = json.at("args");
      event.end = event.begin;
      if (event.form == Form::kSpan) {
        event.end += json.at("dur").get<double>() / kMicroseconds;
      } else if (event.form == Form::kMessage) {
        event.end += arguments.at("seconds").get<double>();
      } else {
        event.value = arguments.at("value");
      }
      events.push_back(std::move(event));
    }
    return events;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kDataLoss, where, "no trace of Weft: {}",
                error.what());
  }
}

}  // namespace weft
