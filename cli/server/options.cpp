#include "cli/server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/base/quantity.h"

namespace weft::cli {
namespace {

using serve::Duration;

constexpr const char* kFooter =
    R"(MODEL is a file of weft export, NAME=FILE, or a folder of *.weft files;
NAME=FOLDER are the versions of one model, 1.weft, 2.weft, ….

  weft serve digits.weft
  curl localhost:8000/v2/models/digits
  weft serve digits.weft --delay 2ms --batch 64 --threads 4
  weft serve models/ --host 0.0.0.0 --tls-certificate cert.pem \
    --tls-key key.pem --token-file token

SIGHUP loads all models anew; SIGTERM answers what has come in, and ends.
The page is at http://localhost:8000/, the guide in docs/serving.md.)";

Error bad_option(std::string_view option, std::string_view text,
                 std::string_view due) {
  return Error(ErrorCode::kInvalidArgument, option, "'{}' is no {}", text, due);
}

Duration parse_duration(std::string_view option, const std::string& text) {
  constexpr double kMostSeconds = 1e7;  // clocks count on from there
  const auto seconds = parse_quantity(text, kTimeUnits);
  // NaN passes no comparison.
  if (!seconds || !(*seconds >= 0 && *seconds <= kMostSeconds)) {
    throw bad_option(option, text, "time, as 2ms or 30s");
  }
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(*seconds));
}

// "N=8,T=20", or "digits:N=8".
void parse_warm_up(const std::string& text,
                   serve::RepositoryOptions& repository) {
  const auto fail = [&] {
    return bad_option("--warm-up", text, "shape, as N=8,T=20 or digits:N=8");
  };
  const auto colon = text.find(':');
  std::string_view rest = text;
  if (colon != text.npos) rest.remove_prefix(colon + 1);
  serve::NamedSizes sizes;
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto equals = part.find('=');
    if (equals == part.npos) throw fail();
    Dim size = 0;
    const char* end = part.data() + part.size();
    const auto read = std::from_chars(part.data() + equals + 1, end, size);
    if (read.ec != std::errc() || read.ptr != end || size < 1) throw fail();
    sizes.emplace_back(part.substr(0, equals), size);
  }
  if (sizes.empty()) throw fail();
  if (colon == text.npos) {
    repository.model.warm_up.push_back(std::move(sizes));
  } else {
    repository.warm_up[text.substr(0, colon)].push_back(std::move(sizes));
  }
}

// A token on the command line would stand in the list of processes.
void read_token(const std::string& file, ServeArguments& arguments) {
  constexpr const char* kVariable = "WEFT_SERVE_TOKEN";
  std::string token;
  if (!file.empty()) {
    token = read_text(file, 64 << 10);
    while (!token.empty() &&
           std::isspace(static_cast<unsigned char>(token.back())) != 0) {
      token.pop_back();
    }
  } else if (const char* variable = std::getenv(kVariable)) {
    token = variable;
  } else {
    return;
  }
  arguments.server.access = serve::Access(token);
}

void check(const ServeArguments& arguments) {
  const auto& executors = arguments.server.executors;
  if (executors.executors > executors.threads) {
    throw Error(ErrorCode::kInvalidArgument, "--executors",
                "{} batches at once need as many threads, and --threads is {}",
                executors.executors, executors.threads);
  }
  if (arguments.server.deadline <= Duration::zero()) {
    throw Error(ErrorCode::kInvalidArgument, "--deadline",
                "no request can be answered in no time");
  }
  // Two looks in a row would find a half-written file unchanged, and whole.
  if (arguments.server.repository.watch_every == Duration::zero()) {
    throw Error(ErrorCode::kInvalidArgument, "--watch",
                "files cannot be looked at without a time between")
        .hint("--watch 1s, or --watch off for never");
  }
  if (arguments.grpc &&
      arguments.grpc->most_message_bytes > serve::kMostGrpcMessage) {
    throw Error(ErrorCode::kInvalidArgument, "--body",
                "gRPC takes no message of more than {} bytes",
                serve::kMostGrpcMessage)
        .hint("--no-grpc serves HTTP alone, which takes longer bodies");
  }
  if (arguments.http.tls.certificate.empty() !=
      arguments.http.tls.key.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "--tls-certificate",
                "a certificate and its key are given together");
  }
}

// What options say in words of their own, until all of them are read.
struct Given {
  std::string token_file;
  std::string watch = "1s";
  std::vector<std::string> warm_up;
  std::string request_file;
  std::uint64_t request_log_bytes = std::uint64_t{1} << 30;
  bool is_http_alone = false;
};

void add_time(CLI::App& app, const char* name, Duration& duration,
              const char* text, const char* help) {
  app.add_option_function<std::string>(
         name,
         [&duration, name](const std::string& given) {
           duration = parse_duration(name, given);
         },
         help)
      ->type_name("TIME")
      ->default_str(text);
}

void add_bytes(CLI::App& app, const char* name, std::uint64_t& bytes,
               const char* help) {
  app.add_option(name, bytes, help)
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true))
      // CLI11 makes the largest number there is of -1.
      ->transform(CLI::Validator(
          [](const std::string& text) {
            return text.starts_with('-') ? text + " is no number of bytes"
                                         : std::string();
          },
          ""));
}

void add_addresses(CLI::App& app, ServeArguments& arguments, Given& given) {
  app.add_option("--host", arguments.http.address, "the address to listen at")
      ->capture_default_str();
  app.add_option("--port", arguments.http.port, "of HTTP; 0: any that is free")
      ->capture_default_str();
  auto* grpc = app.add_option("--grpc-port", arguments.grpc->port,
                              "of gRPC; 0: any that is free")
                   ->capture_default_str();
  app.add_flag("--no-grpc", given.is_http_alone, "serve HTTP alone")
      ->excludes(grpc);
}

void add_computing(CLI::App& app, serve::ServerOptions& server, Given& given) {
  auto& executors = server.executors;
  auto& repository = server.repository;
  app.add_option("--threads", executors.threads,
                 "that compute, for all models together")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--executors", executors.executors,
                 "batches that run at once, each on its share of the threads; "
                 "by default 2, or 1 for one thread")
      ->check(CLI::Range(1, 1024));
  app.add_option("--batch", repository.model.most_rows,
                 "rows of several requests that run together at most")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 16));
  add_time(app, "--delay", executors.delay, "0ms",
           "how long a request waits for others to share its run");
  app.add_option("--queue", executors.most_waiting,
                 "requests of a model that may wait; one more is refused")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  add_time(app, "--deadline", server.deadline, "30s",
           "how long a request that says nothing may wait");
  app.add_option("--plans", repository.model.most_plans,
                 "combinations of shapes that are kept of a model")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option("--warm-up", given.warm_up,
                 "[MODEL:]DIM=SIZE,…: shapes to run before the first request; "
                 "by default all numbers of rows")
      ->allow_extra_args(false)
      ->type_name("SHAPE");
  app.add_option("--watch", given.watch,
                 "how often files are looked at for a new version; off: never")
      ->capture_default_str()
      ->type_name("TIME");
}

void add_clients(CLI::App& app, serve::HttpOptions& http, Given& given) {
  app.add_option("--token-file", given.token_file,
                 "holds the token that clients must show; WEFT_SERVE_TOKEN "
                 "does, too")
      ->type_name("FILE");
  app.add_option("--tls-certificate", http.tls.certificate, "PEM")
      ->type_name("FILE");
  app.add_option("--tls-key", http.tls.key, "PEM, without a password")
      ->type_name("FILE");
  app.add_option("--connections", http.most_connections,
                 "of HTTP that may be open")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  add_bytes(app, "--body", http.most_body_bytes, "bytes of a request at most");
  app.add_option("--http-threads", http.threads, "that read and write HTTP")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
}

void add_log(CLI::App& app, Given& given) {
  app.add_option("--log-requests", given.request_file,
                 "write the features of each request there, an object a line, "
                 "for weft validate skew")
      ->type_name("FILE.jsonl");
  add_bytes(app, "--log-bytes", given.request_log_bytes,
            "that the log of requests may have; then no more is written");
}

void parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) std::exit(app.exit(error));  // --help
    throw Error(ErrorCode::kInvalidArgument, "serve", "{}", error.what())
        .hint("weft serve --help");
  }
}

// Options that are made of others, or wait for them.
void settle(const Given& given, ServeArguments& arguments) {
  auto& executors = arguments.server.executors;
  auto& repository = arguments.server.repository;
  if (executors.executors == 0) {
    executors.executors = std::min(2, executors.threads);
  }
  if (given.watch != "off") {
    repository.watch_every = parse_duration("--watch", given.watch);
  }
  for (const std::string& text : given.warm_up) parse_warm_up(text, repository);
  read_token(given.token_file, arguments);
  if (!given.request_file.empty()) {
    arguments.server.request_log = std::make_shared<serve::RequestLog>(
        given.request_file, given.request_log_bytes);
  }
  if (given.is_http_alone) arguments.grpc.reset();
  if (arguments.grpc) {
    arguments.grpc->address = arguments.http.address;
    arguments.grpc->tls = arguments.http.tls;
    arguments.grpc->most_message_bytes = arguments.http.most_body_bytes;
  }
}

}  // namespace

ServeArguments parse_serve_arguments(int argc, char** argv) {
  ServeArguments arguments;
  arguments.server.executors.threads = thread_count();
  arguments.server.executors.executors = 0;
  Given given;
  CLI::App app(
      "Serve models over HTTP and gRPC, by the open inference protocol.",
      "weft serve");
  app.footer(kFooter);
  app.add_option("MODEL", arguments.models, "what is served")->required();
  add_addresses(app, arguments, given);
  add_computing(app, arguments.server, given);
  add_clients(app, arguments.http, given);
  add_log(app, given);
  add_time(app, "--drain", arguments.drain, "30s",
           "how long SIGTERM waits for what has come in");
  parse(app, argc, argv);
  settle(given, arguments);
  check(arguments);
  return arguments;
}

}  // namespace weft::cli
