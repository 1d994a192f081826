#include "weft/serve/http/routes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "weft/base/version.h"
#include "weft/serve/page/page.h"
#include "weft/serve/protocol/json_request.h"
#include "weft/serve/protocol/metadata.h"

namespace weft::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const auto end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

HttpAnswer refused(const Error& error) {
  return refusal_answer(status_of(error), error.what());
}

std::optional<std::size_t> json_size_of(std::string_view header) {
  if (header.empty()) return std::nullopt;
  std::size_t size = 0;
  const char* end = header.data() + header.size();
  const auto read = std::from_chars(header.data(), end, size);
  if (read.ec == std::errc() && read.ptr == end) return size;
  throw Refusal(Status::kBadRequest, "Inference-Header-Content-Length",
                "'{}' is no number of bytes", header);
}

// "text/plain", in any case, whatever parameters follow.
bool is_text(std::string_view content_type) {
  constexpr std::string_view kText = "text/plain";
  const std::string_view kind = content_type.substr(0, kText.size());
  const std::string_view rest = content_type.substr(kind.size());
  const auto lower = [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  return std::ranges::equal(kind, kText, {}, lower) &&
         (rest.empty() || rest[0] == ';' || rest[0] == ' ');
}

}  // namespace

HttpAnswer refusal_answer(Status status, std::string_view message) {
  return {.code = http_code(status), .body = error_json(message)};
}

// An address, taken apart.
struct Routes::Target {
  enum Kind {
    kNothing,
    kPage,
    kMetrics,
    kServer,
    kLive,
    kReady,
    kModel,
    kModelReady,
    kInfer,
    kPredict,
    kIndex,
    kLoad,
    kUnload,
  };
  Kind kind = kNothing;
  std::string model = {};
  std::string version = {};

  bool is_post() const { return kind >= kInfer; }
  // What tells nothing of the models: probes have no token, and the page asks
  // for it.
  bool is_open() const {
    return kind == kPage || kind == kLive || kind == kReady;
  }
};

Routes::Target Routes::parse(std::string_view path) {
  using T = Target;
  auto parts = parts_of(path);
  const auto is = [&](std::initializer_list<std::string_view> wanted) {
    return std::ranges::equal(parts, wanted);
  };
  if (is({}) || is({""})) return {T::kPage};
  if (is({"metrics"})) return {T::kMetrics};
  if (is({"v2"})) return {T::kServer};
  if (is({"v2", "health", "live"})) return {T::kLive};
  if (is({"v2", "health", "ready"})) return {T::kReady};
  if (is({"v2", "repository", "index"})) return {T::kIndex};
  if (parts.size() == 5 && parts[0] == "v2" && parts[1] == "repository" &&
      parts[2] == "models") {
    if (parts[4] == "load") return {T::kLoad, std::string(parts[3])};
    if (parts[4] == "unload") return {T::kUnload, std::string(parts[3])};
  }
  if (parts.size() < 3 || parts[0] != "v2" || parts[1] != "models") return {};
  Target target{T::kModel, std::string(parts[2])};
  parts.erase(parts.begin(), parts.begin() + 3);
  if (parts.size() >= 2 && parts[0] == "versions") {
    target.version = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  if (is({})) return target;
  target.kind = is({"ready"})     ? T::kModelReady
                : is({"infer"})   ? T::kInfer
                : is({"predict"}) ? T::kPredict
                                  : T::kNothing;
  return target;
}

std::optional<HttpAnswer> Routes::refuse(const HttpCall& call) {
  const Target target = parse(call.path);
  if (!target.is_open() && !server_.access().admits(call.authorization)) {
    server_.metrics().unauthorized += 1;
    return refusal_answer(Status::kUnauthorized,
                          "the header 'Authorization: Bearer TOKEN' is "
                          "missing, or has another token");
  }
  if (target.kind == Target::kNothing) {
    return refusal_answer(Status::kNotFound,
                          "there is nothing at this address");
  }
  const bool is_taken = target.is_post()
                            ? call.method == "POST"
                            : call.method == "GET" || call.method == "HEAD";
  if (!is_taken) {
    HttpAnswer answer = refusal_answer(
        Status::kBadMethod, fmt::format("this address takes {}",
                                        target.is_post() ? "POST" : "GET"));
    answer.allow = target.is_post() ? "POST" : "GET, HEAD";
    return answer;
  }
  if (!call.content_encoding.empty() && call.content_encoding != "identity") {
    return refusal_answer(Status::kBadRequest,
                          fmt::format("bodies come as they are, not as '{}'",
                                      call.content_encoding));
  }
  return std::nullopt;
}

std::function<void()> Routes::handle(const HttpCall& call, Reply reply) {
  const Target target = parse(call.path);
  try {
    if (target.is_post()) return post(target, call, reply);
    reply([answer = get(target)] { return answer; });
  } catch (const Error& error) {
    reply([answer = refused(error)] { return answer; });
  } catch (const std::exception& error) {
    // No request may take the server along.
    reply([answer = refusal_answer(Status::kInternal, error.what())] {
      return answer;
    });
  }
  return nullptr;
}

HttpAnswer Routes::get(const Target& target) {
  switch (target.kind) {
    case Target::kPage:
      return {.body = std::string(page()),
              .content_type = "text/html; charset=utf-8"};
    case Target::kMetrics:
      return {.body = server_.metrics().text(),
              .content_type = "text/plain; version=0.0.4"};
    case Target::kServer:
      return {.body = dump({{"name", kServerName},
                            {"version", kVersion},
                            {"extensions", extensions()}})};
    case Target::kLive:
      return {.body = R"({"live":true})"};
    case Target::kReady: {
      const bool is_ready = server_.is_ready();
      return {.code = is_ready ? 200 : http_code(Status::kUnavailable),
              .body = dump({{"ready", is_ready}})};
    }
    default:
      return metadata_of(target);
  }
}

HttpAnswer Routes::metadata_of(const Target& target) {
  const LaneRef lane = server_.repository().find(target.model, target.version);
  if (target.kind == Target::kModelReady) {
    return {.body = dump({{"name", target.model}, {"ready", true}})};
  }
  return {.body = metadata_json(lane->model(),
                                server_.repository().versions(target.model))};
}

HttpAnswer Routes::index_answer(std::string_view body) {
  const bool is_ready_alone = parse_index_request(body);
  Json list = Json::array();
  for (const IndexEntry& entry : server_.repository().index()) {
    if (is_ready_alone && !entry.is_ready) continue;
    list.push_back({{"name", entry.name},
                    {"version", entry.version},
                    {"state", entry.is_ready ? "READY" : "UNAVAILABLE"},
                    {"reason", entry.reason}});
  }
  return {.body = dump(list)};
}

std::function<void()> Routes::post(const Target& target, const HttpCall& call,
                                   const Reply& reply) {
  switch (target.kind) {
    case Target::kInfer:
      return infer(target, call, reply);
    case Target::kPredict:
      predict(target, call, reply);
      return nullptr;
    case Target::kIndex:
      reply([answer = index_answer(call.body)] { return answer; });
      return nullptr;
    case Target::kUnload:
      server_.repository().unload(target.model);
      reply([] { return HttpAnswer(); });
      return nullptr;
    default:
      server_.repository().load(target.model, [reply](const auto& error) {
        reply([answer = error ? refusal_answer(Status::kUnavailable, *error)
                              : HttpAnswer()] { return answer; });
      });
      // A load goes on, whoever asked for it.
      return nullptr;
  }
}

std::function<void()> Routes::infer(const Target& target, const HttpCall& call,
                                    const Reply& reply) {
  JsonRequest request =
      parse_infer_request(call.body, json_size_of(call.json_size));
  request.call.model = target.model;
  request.call.version = target.version;
  auto ticket = server_.infer(
      std::move(request.call),
      [reply, form = std::move(request.form)](InferAnswer answer) {
        reply([answer = std::move(answer), form] {
          if (answer.status != Status::kOk) {
            return refusal_answer(answer.status, answer.message);
          }
          JsonAnswer written = write_infer_answer(answer, form);
          HttpAnswer http{.body = std::move(written.body),
                          .json_size = written.json_size};
          if (http.json_size) http.content_type = "application/octet-stream";
          return http;
        });
      });
  return [this, ticket = std::move(ticket)] { server_.cancel(ticket); };
}

// Text is what was typed; anything else is a file.
void Routes::predict(const Target& target, const HttpCall& call,
                     const Reply& reply) {
  PersonInput input;
  if (is_text(call.content_type)) {
    input.text = call.body;
  } else {
    input.text = "upload";
    input.file = std::string(call.body);
  }
  server_.predict(
      target.model, target.version, std::move(input),
      [reply](PersonAnswer answer) {
        reply([answer = std::move(answer)] {
          if (answer.status != Status::kOk) {
            return refusal_answer(answer.status, answer.message);
          }
          return HttpAnswer{.body = dump({{"model_name", answer.model},
                                          {"model_version", answer.version},
                                          {"lines", answer.lines},
                                          {"prediction", answer.json}})};
        });
      });
}

}  // namespace weft::serve
