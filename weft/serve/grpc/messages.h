// Messages of gRPC as calls and answers of the server, and back.
//
// Threads: pure functions.
#pragma once

#include <grpcpp/support/status.h>
#include <open_inference.pb.h>

#include "weft/serve/server.h"

namespace weft::serve {

// Without a timeout. Throws Refusal(kBadRequest) naming the field of what does
// not fit: contents of another datatype, too few or too many elements or bytes,
// both forms of contents at once.
InferCall call_of(const inference::ModelInferRequest& request);

// Tensors are written as raw bytes if `is_raw`, or where a dtype has no other
// form; else as numbers.
void write(const InferAnswer& answer, bool is_raw,
           inference::ModelInferResponse& response);

// `versions` are those of the model that are served, this one among them.
void write(const ServedModel& model, const std::vector<std::string>& versions,
           inference::ModelMetadataResponse& response);

grpc::Status grpc_status(Status status, const std::string& message);

}  // namespace weft::serve
