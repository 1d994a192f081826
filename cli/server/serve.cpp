// The server: models behind HTTP and gRPC.
#include <boost/asio/executor_work_guard.hpp>
#include <csignal>
#include <cstdio>
#include <fmt/core.h>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/server/options.h"
#include "cli/server/parts.h"

#include "weft/serve/grpc/grpc_server.h"
#include "weft/serve/http/listener.h"
#include "weft/serve/log.h"

namespace weft::cli {
namespace {

namespace asio = boost::asio;

// Threads that read and write, and do short runs themselves; they end when
// nothing is left to do.
class IoThreads {
 public:
  // asio wakes nobody where it knows of one thread alone.
  IoThreads(int count, serve::Server& server)
      : context(count), server_(server) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] { run(); });
    }
  }
  ~IoThreads() {
    work_.reset();
    // What clients have not read by now they will not read.
    context.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  asio::io_context context;

 private:
  // What one connection throws, out of memory say, ends that connection alone.
  void run() {
    auto volunteer = server_.volunteer();
    while (!context.stopped()) {
      try {
        // All that has come is read first, so that it runs together.
        context.poll();
        if (!volunteer.run()) context.run_one();
      } catch (const std::exception& error) {
        serve::log("a connection was dropped: {}", error.what());
      }
    }
  }

  serve::Server& server_;
  asio::executor_work_guard<asio::io_context::executor_type> work_ =
      asio::make_work_guard(context);
  std::vector<std::thread> threads_;
};

// Ends the server before what it answers to goes.
class Ending {
 public:
  explicit Ending(serve::Server& server) : server_(server) {}
  ~Ending() { server_.end(); }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

 private:
  serve::Server& server_;
};

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&signals, signal);
  }
  return signals;
}

// Until the models are loaded nobody waits for an answer: a signal that ends
// the server ends it at once. SIGHUP stays blocked, and is read afterwards.
void open_models(serve::Server& server,
                 const std::vector<std::string>& models) {
  sigset_t ends = handled_signals();
  sigdelset(&ends, SIGHUP);
  pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
  server.repository().open(models);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
}

// Reloads on SIGHUP; returns on the signals that end the server.
void wait_for_end(serve::Server& server, const sigset_t& signals) {
  while (true) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal != SIGHUP) return;
    serve::log("SIGHUP: all models are loaded anew");
    server.repository().reload_all();
  }
}

void run_server(const ServeArguments& arguments) {
  // All threads inherit the mask, so that signals come where they are waited
  // for.
  const sigset_t signals = handled_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  serve::Server server(arguments.server);
  serve::Routes routes(server);
  IoThreads io(arguments.http.threads, server);
  serve::HttpListener http(io.context, routes, server.metrics(),
                           arguments.http);
  std::optional<serve::GrpcServer> grpc;
  if (arguments.grpc) grpc.emplace(server, *arguments.grpc);
  const Ending ending(server);
  open_models(server, arguments.models);
  fmt::print("http{}://{}\n", arguments.http.tls.is_wanted() ? "s" : "",
             serve::endpoint_text(arguments.http.address, http.port()));
  if (grpc) {
    fmt::print("grpc://{}\n",
               serve::endpoint_text(arguments.grpc->address, grpc->port()));
  }
  std::fflush(stdout);

  wait_for_end(server, signals);
  // A second signal ends it at once.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  serve::log("ending: no more requests are taken");
  const serve::Time until = serve::Clock::now() + arguments.drain;
  server.leave();
  // Both stop taking connections before either is waited for.
  http.end();
  if (grpc) grpc->close(until);
  const bool is_closed = http.close(until);
  const bool is_done = server.drain(until);
  serve::log("ended: {}", is_closed && is_done
                              ? "every request was answered"
                              : "requests were left unanswered");
}

int fail(int code, std::string_view text) {
  // fmt::print throws where nothing can be written, and nobody would catch it.
  const std::string line = fmt::format("weft: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
  return code;
}

}  // namespace

int serve_models(int argc, char** argv) {
  try {
    run_server(parse_serve_arguments(argc, argv));
    return 0;
  } catch (const Error& error) {
    return fail(2, error.what());
  } catch (const std::bad_alloc&) {
    return fail(1, "out of memory");
  } catch (const std::exception& error) {
    return fail(1, error.what());
  }
}

}  // namespace weft::cli
