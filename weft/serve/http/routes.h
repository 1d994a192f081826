// What each address of the HTTP side answers, without a socket; HEAD is
// answered as GET, whose body the session leaves out:
//
//   GET  /                                    the page
//   GET  /metrics                             what Prometheus reads
//   GET  /v2                                  the server's metadata
//   GET  /v2/health/live, /v2/health/ready
//   GET  /v2/models/NAME[/versions/VERSION]   the model's metadata
//   GET  /v2/models/NAME[/versions/VERSION]/ready
//   POST /v2/models/NAME[/versions/VERSION]/infer
//   POST /v2/models/NAME[/versions/VERSION]/predict   what a person gives
//   POST /v2/repository/index
//   POST /v2/repository/models/NAME/load, /unload
//
// Threads: thread-safe.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weft/serve/server.h"

namespace weft::serve {

struct HttpCall {
  std::string_view method;
  std::string_view path;  // without what follows a '?'
  std::string_view body = {};
  std::string_view authorization = {};
  std::string_view content_encoding = {};
  std::string_view content_type = {};
  std::string_view json_size = {};  // Inference-Header-Content-Length
};

struct HttpAnswer {
  int code = 200;
  std::string body = {};
  std::string content_type = "application/json";
  std::optional<std::size_t> json_size = {};
  std::string allow = {};  // the methods of the address, where another came
};

HttpAnswer refusal_answer(Status status, std::string_view message);

class Routes {
 public:
  explicit Routes(Server& server) : server_(server) {}

  // Why a call is refused before its body is read: the token, an unknown
  // address. Nothing if it may go on.
  std::optional<HttpAnswer> refuse(const HttpCall& call);

  // Answers once, at once or later on another thread. Answers are written by
  // whoever calls what is handed over, as long texts should not keep a thread
  // that computes.
  using Reply = std::function<void(std::function<HttpAnswer()> write)>;
  // What is returned gives the call up; null where it is answered already.
  std::function<void()> handle(const HttpCall& call, Reply reply);

 private:
  struct Target;
  static Target parse(std::string_view path);
  HttpAnswer get(const Target& target);
  HttpAnswer metadata_of(const Target& target);
  std::function<void()> post(const Target& target, const HttpCall& call,
                             const Reply& reply);
  std::function<void()> infer(const Target& target, const HttpCall& call,
                              const Reply& reply);
  void predict(const Target& target, const HttpCall& call, const Reply& reply);
  HttpAnswer index_answer(std::string_view body);

  Server& server_;
};

}  // namespace weft::serve
