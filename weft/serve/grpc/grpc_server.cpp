#include "weft/serve/grpc/grpc_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <open_inference.grpc.pb.h>

#include "weft/base/file.h"
#include "weft/base/version.h"
#include "weft/serve/grpc/messages.h"

namespace weft::serve {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

grpc::Status status_for(const Error& error) {
  return grpc_status(status_of(error), error.what());
}

// The time that the client gives the call; nothing where it gives any.
std::optional<Duration> time_left(const CallbackServerContext& context) {
  const auto deadline = context.deadline();
  const auto now = std::chrono::system_clock::now();
  if (deadline - now > std::chrono::hours(24)) return std::nullopt;
  return std::chrono::duration_cast<Duration>(deadline - now);
}

bool is_admitted(Server& server, const CallbackServerContext& context) {
  const auto& headers = context.client_metadata();
  const auto found = headers.find("authorization");
  const std::string_view shown =
      found == headers.end()
          ? std::string_view()
          : std::string_view(found->second.data(), found->second.size());
  if (server.access().admits(shown)) return true;
  server.metrics().unauthorized += 1;
  return false;
}

grpc::Status refused() {
  return grpc_status(Status::kUnauthorized,
                     "the metadata 'authorization: Bearer TOKEN' is missing, "
                     "or has another token");
}

// One call that waits for its model. It lives until gRPC is done with it.
class InferReactor final : public ServerUnaryReactor {
 public:
  InferReactor(Server& server, const CallbackServerContext& context,
               const inference::ModelInferRequest& request,
               inference::ModelInferResponse& response)
      : server_(server),
        is_raw_(request.raw_input_contents_size() > 0),
        response_(response) {
    if (!is_admitted(server, context)) {
      Finish(refused());
      return;
    }
    try {
      InferCall call = call_of(request);
      if (const auto left = time_left(context)) {
        call.timeout = std::min(call.timeout.value_or(*left), *left);
      }
      // gRPC calls OnCancel() and OnDone() when this reactor has been returned
      // to it, not before.
      ticket_ = server.infer(std::move(call),
                             [this](InferAnswer answer) { answered(answer); });
    } catch (const Error& error) {
      Finish(status_for(error));
    } catch (const std::exception& error) {
      Finish(grpc_status(Status::kInternal, error.what()));
    }
  }

 private:
  void answered(const InferAnswer& answer) {
    if (answer.status == Status::kOk) write(answer, is_raw_, response_);
    Finish(grpc_status(answer.status, answer.message));
  }

  void OnCancel() override {
    if (ticket_.request != nullptr) server_.cancel(ticket_);
  }
  void OnDone() override { delete this; }

  Server& server_;
  bool is_raw_;
  inference::ModelInferResponse& response_;
  Server::Ticket ticket_;
};

// A load that goes on, whoever asked for it.
class LoadReactor final : public ServerUnaryReactor {
 public:
  LoadReactor(Server& server, const std::string& model) {
    try {
      server.repository().load(model, [this](const auto& error) {
        Finish(error ? grpc_status(Status::kUnavailable, *error)
                     : grpc::Status());
      });
    } catch (const Error& error) {
      Finish(status_for(error));
    }
  }

 private:
  void OnDone() override { delete this; }
};

class Service final : public inference::GRPCInferenceService::CallbackService {
 public:
  explicit Service(Server& server) : server_(server) {}

 private:
  using Context = CallbackServerContext;

  // Answers at once with what `body` makes, if the token is right.
  template <class Body>
  ServerUnaryReactor* answer(Context* context, Body&& body) {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    if (!is_admitted(server_, *context)) {
      reactor->Finish(refused());
      return reactor;
    }
    try {
      body();
      reactor->Finish(grpc::Status());
    } catch (const Error& error) {
      reactor->Finish(status_for(error));
    }
    return reactor;
  }

  // Probes have no token.
  ServerUnaryReactor* ServerLive(
      Context* context, const inference::ServerLiveRequest*,
      inference::ServerLiveResponse* response) override {
    response->set_live(true);
    ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status());
    return reactor;
  }
  ServerUnaryReactor* ServerReady(
      Context* context, const inference::ServerReadyRequest*,
      inference::ServerReadyResponse* response) override {
    response->set_ready(server_.is_ready());
    ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status());
    return reactor;
  }
  ServerUnaryReactor* ModelReady(
      Context* context, const inference::ModelReadyRequest* request,
      inference::ModelReadyResponse* response) override {
    return answer(context, [&] {
      server_.repository().find(request->name(), request->version());
      response->set_ready(true);
    });
  }
  ServerUnaryReactor* ServerMetadata(
      Context* context, const inference::ServerMetadataRequest*,
      inference::ServerMetadataResponse* response) override {
    return answer(context, [&] {
      response->set_name(kServerName);
      response->set_version(kVersion);
      for (const std::string& each : extensions()) {
        response->add_extensions(each);
      }
    });
  }
  ServerUnaryReactor* ModelMetadata(
      Context* context, const inference::ModelMetadataRequest* request,
      inference::ModelMetadataResponse* response) override {
    return answer(context, [&] {
      const LaneRef lane =
          server_.repository().find(request->name(), request->version());
      write(lane->model(), server_.repository().versions(request->name()),
            *response);
    });
  }
  ServerUnaryReactor* ModelInfer(
      Context* context, const inference::ModelInferRequest* request,
      inference::ModelInferResponse* response) override {
    return new InferReactor(server_, *context, *request, *response);
  }
  ServerUnaryReactor* RepositoryIndex(
      Context* context, const inference::RepositoryIndexRequest* request,
      inference::RepositoryIndexResponse* response) override {
    return answer(context, [&] {
      for (const IndexEntry& entry : server_.repository().index()) {
        if (request->ready() && !entry.is_ready) continue;
        auto& model = *response->add_models();
        model.set_name(entry.name);
        model.set_version(entry.version);
        model.set_state(entry.is_ready ? "READY" : "UNAVAILABLE");
        model.set_reason(entry.reason);
      }
    });
  }
  ServerUnaryReactor* RepositoryModelLoad(
      Context* context, const inference::RepositoryModelLoadRequest* request,
      inference::RepositoryModelLoadResponse*) override {
    if (is_admitted(server_, *context)) {
      return new LoadReactor(server_, request->model_name());
    }
    ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(refused());
    return reactor;
  }
  ServerUnaryReactor* RepositoryModelUnload(
      Context* context, const inference::RepositoryModelUnloadRequest* request,
      inference::RepositoryModelUnloadResponse*) override {
    return answer(context,
                  [&] { server_.repository().unload(request->model_name()); });
  }

  Server& server_;
};

std::shared_ptr<grpc::ServerCredentials> credentials(const TlsFiles& files) {
  if (!files.is_wanted()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {read_text(files.key), read_text(files.certificate)});
  return grpc::SslServerCredentials(options);
}

}  // namespace

class GrpcServer::State {
 public:
  State(Server& server, const GrpcOptions& options) : service_(server) {
    const std::string address = endpoint_text(options.address, options.port);
    grpc::ServerBuilder builder;
    // What clients send wrongly they are told; the log is not theirs.
    google::protobuf::SetLogHandler(nullptr);
    // Else a second server would share the port without a word.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    WEFT_CHECK(options.most_message_bytes <= kMostGrpcMessage);
    builder.SetMaxReceiveMessageSize(
        static_cast<int>(options.most_message_bytes));
    builder.AddListeningPort(address, credentials(options.tls), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      throw Error(ErrorCode::kUnavailable, address,
                  "cannot serve gRPC here: the port is taken, or the files of "
                  "TLS do not fit");
    }
  }

  int port() const { return port_; }
  void close(Time until) {
    server_->Shutdown(
        std::chrono::system_clock::now() +
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            until - Clock::now()));
  }

 private:
  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;  // ends before the service
};

GrpcServer::GrpcServer(Server& server, const GrpcOptions& options)
    : state_(std::make_unique<State>(server, options)) {}

GrpcServer::~GrpcServer() { close(Clock::now()); }

std::uint16_t GrpcServer::port() const {
  return static_cast<std::uint16_t>(state_->port());
}

void GrpcServer::close(Time until) { state_->close(until); }

}  // namespace weft::serve
