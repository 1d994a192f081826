#include "weft/runtime/trace_file.h"

#include <cmath>
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

// The clock's tenth of a microsecond is all that is worth its bytes.
double microseconds(double seconds) {
  return std::round(seconds * kMicroseconds * 10) / 10;
}

Json arguments_of(const SpanKind& kind) {
  Json arguments = Json::object();
  if (!kind.detail.empty()) arguments["kernel"] = kind.detail;
  if (kind.flops > 0) arguments["flops"] = kind.flops;
  if (kind.bytes > 0) arguments["bytes"] = kind.bytes;
  return arguments;
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

TraceWriter::~TraceWriter() { file_ << "\n]\n"; }

void TraceWriter::line(const std::string& text) {
  file_ << (is_empty_ ? "" : ",\n") << text;
  is_empty_ = false;
}

void TraceWriter::write(std::span<const ProfileEvent> events) {
  for (const ProfileEvent& event : events) write(event);
}

void TraceWriter::write(const ProfileEvent& event) {
  if (named_.insert(event.thread).second) {
    line(text_of({{"name", "thread_name"},
                  {"ph", "M"},
                  {"pid", 0},
                  {"tid", event.thread},
                  {"args", {{"name", profile::thread_name(event.thread)}}}}));
  }
  Json json{{"name", event.kind->name},
            {"cat", event.kind->category},
            {"ph", "X"},
            {"ts", microseconds(event.begin)},
            {"pid", 0},
            {"tid", event.thread}};
  if (event.form == Form::kQuantity) {
    json["ph"] = "C";
    json["args"] = {{"value", event.value}};
    return line(text_of(json));
  }
  json["args"] = arguments_of(*event.kind);
  if (event.form == Form::kSpan) {
    json["dur"] = microseconds(event.end - event.begin);
    return line(text_of(json));
  }
  // Spans of one thread must nest; messages are on their way beside each other.
  json["ph"] = "b";
  json["id"] = ++messages_;
  json["args"]["seconds"] = event.end - event.begin;
  line(text_of(json));
  json["ph"] = "e";
  json["ts"] = microseconds(event.end);
  line(text_of(json));
}

void write_trace(const std::filesystem::path& path,
                 std::span<const ProfileEvent> events) {
  TraceWriter(path).write(events);
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
