// The parts of weft-serve: what speaks gRPC.
#pragma once

namespace weft::cli {

// Each reads the words of its own, of which the first is its name, runs until
// it is ended, tells errors on standard error and returns the code to exit
// with.
int serve_models(int argc, char** argv);
int keep_replica(int argc, char** argv);

}  // namespace weft::cli
