// Ending a run by a signal: the first Ctrl-C, or SIGTERM, asks for a checkpoint
// and the end; the second one ends the process.
#pragma once

#include <atomic>

namespace weft::cli {

// Until this is called a signal ends the process as usual. To be called when
// the transport is open: its own handler of SIGTERM is kept, and called.
void catch_stop_signals();
// Set once a signal has come.
std::atomic<bool>& stop_requested();

}  // namespace weft::cli
