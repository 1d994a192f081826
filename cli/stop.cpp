#include "cli/stop.h"

#include <csignal>

namespace weft::cli {
namespace {

// A signal handler may touch little else than a lock-free atomic.
std::atomic<bool> is_requested = false;

// What SIGTERM did before: where a launcher has started this process, the
// network notices that others are lost.
using SignalHandler = void (*)(int);
SignalHandler network_termination = SIG_DFL;

// The first Ctrl-C ends the run with a checkpoint; the second one ends it.
extern "C" void request_stop(int signal) {
  is_requested = true;
  const bool is_the_networks = signal == SIGTERM &&
                               network_termination != SIG_DFL &&
                               network_termination != SIG_IGN;
  if (is_the_networks) {
    network_termination(signal);
  } else {
    std::signal(signal, SIG_DFL);
  }
}

}  // namespace

void catch_stop_signals() {
  std::signal(SIGINT, request_stop);
  network_termination = std::signal(SIGTERM, request_stop);
}

std::atomic<bool>& stop_requested() { return is_requested; }

}  // namespace weft::cli
