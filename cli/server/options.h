// The command line of weft-serve.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/serve/grpc/grpc_server.h"
#include "weft/serve/http/options.h"
#include "weft/serve/server.h"

namespace weft::cli {

struct ServeArguments {
  std::vector<std::string> models;
  serve::ServerOptions server;
  serve::HttpOptions http;
  std::optional<serve::GrpcOptions> grpc = serve::GrpcOptions();
  serve::Duration drain = std::chrono::seconds(30);
};

// Reads the line, or throws as CLI11 does, and Error(kInvalidArgument) for
// options that do not go together.
ServeArguments parse_serve_arguments(int argc, char** argv);

}  // namespace weft::cli
