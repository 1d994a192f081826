#include "weft/market/grpc/grpc_exchange.h"

#include <chrono>
#include <condition_variable>
#include <exchange.grpc.pb.h>
#include <fmt/ranges.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <list>
#include <map>
#include <mutex>
#include <optional>

#include "weft/base/error.h"

namespace weft::market {
namespace {

// Nobody is lost because a clock of the day was set ahead.
using Clock = std::chrono::steady_clock;

// Around the text, a message has its rank and step.
constexpr int kMostCallBytes = static_cast<int>(kMostMessageBytes) + 64;

// gRPC reads a deadline by the clock of the day, once.
std::chrono::system_clock::time_point deadline_at(Clock::time_point until) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(
             until - Clock::now());
}

// What the ranks have said by now.
class Mailbox final : public Exchange::CallbackService {
 public:
  explicit Mailbox(int size) : size_(size) {}

  grpc::ServerUnaryReactor* Say(grpc::CallbackServerContext* context,
                                const Said* said, Heard* /*answer*/) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(take(*said));
    return reactor;
  }

  // All that was said in a step, by rank, or what there is of it when the time
  // is over. `own` is this rank.
  std::vector<std::optional<std::string>> wait(std::int64_t step, int own,
                                               Clock::time_point until) {
    std::unique_lock lock(mutex_);
    const auto is_whole = [&] {
      return std::ssize(texts_[step]) ==
             size_ - 1 + std::int64_t{texts_[step].contains(own)};
    };
    came_.wait_until(lock, until, is_whole);
    std::vector<std::optional<std::string>> result(
        static_cast<std::size_t>(size_));
    for (auto& [rank, text] : texts_[step]) {
      if (rank != own) result[static_cast<std::size_t>(rank)] = std::move(text);
    }
    texts_.erase(step);
    done_ = step;
    return result;
  }

 private:
  grpc::Status take(const Said& said) {
    const std::lock_guard lock(mutex_);
    // A rank is a step ahead at most: it has heard all of this one.
    if (said.rank() < 0 || said.rank() >= size_ || said.step() < done_ + 1 ||
        said.step() > done_ + 2) {
      return {grpc::StatusCode::OUT_OF_RANGE,
              "no rank says anything in this step"};
    }
    const auto [at, is_new] =
        texts_[said.step()].try_emplace(said.rank(), said.text());
    if (!is_new && at->second != said.text()) {
      return {grpc::StatusCode::ALREADY_EXISTS,
              "the rank has said another text in this step"};
    }
    came_.notify_all();
    return grpc::Status::OK;
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<std::int64_t, std::map<int, std::string>> texts_;  // guarded
  std::int64_t done_ = 0;                                     // guarded: a step
};

// Calls under way, each of which fills its own status.
class Calls {
 public:
  struct Call {
    int rank = 0;
    grpc::ClientContext context;
    Said said;
    Heard heard;
    grpc::Status status;
  };

  void say(Exchange::Stub& stub, int rank, std::int64_t step,
           const std::string& text, Clock::time_point until) {
    Call& call = calls_.emplace_back();
    call.rank = rank;
    call.context.set_wait_for_ready(true);
    call.context.set_deadline(deadline_at(until));
    call.said.set_rank(own_);
    call.said.set_step(step);
    call.said.set_text(text);
    stub.async()->Say(&call.context, &call.said, &call.heard,
                      [this, &call](const grpc::Status& status) {
                        const std::lock_guard lock(mutex_);
                        call.status = status;
                        ++over_;
                        changed_.notify_all();
                      });
  }
  const std::list<Call>& wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_ == calls_.size(); });
    return calls_;
  }

  explicit Calls(int own) : own_(own) {}

 private:
  const int own_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t over_ = 0;   // guarded
  std::list<Call> calls_;  // they stay where they are
};

}  // namespace

class GrpcExchange::State {
 public:
  State(const GrpcExchangeOptions& options, int size)
      : timeout(options.timeout), heard(size), ranks(size) {
    const std::string address =
        fmt::format("{}:{}", options.address, options.port);
    grpc::ServerBuilder builder;
    // Else a second rank would share the port without a word.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(kMostCallBytes);
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(),
                             &bound);
    builder.RegisterService(&heard);
    server = builder.BuildAndStart();
    if (server == nullptr || bound == 0) {
      throw Error(ErrorCode::kUnavailable, address,
                  "cannot serve gRPC here: the port is taken, or the address "
                  "is not this machine's");
    }
  }
  // What was heard is answered first: else others would take it for lost.
  ~State() {
    server->Shutdown(deadline_at(Clock::now() + std::chrono::seconds(5)));
  }

  double timeout;
  Mailbox heard;
  int ranks;
  int rank = 0;
  int bound = 0;
  std::int64_t step = 0;
  std::unique_ptr<grpc::Server> server;
  std::vector<std::unique_ptr<Exchange::Stub>> stubs;  // none for this rank
};

GrpcExchange::GrpcExchange(const GrpcExchangeOptions& options, int size)
    : state_(std::make_unique<State>(options, size)) {}
GrpcExchange::~GrpcExchange() = default;

std::uint16_t GrpcExchange::port() const {
  return static_cast<std::uint16_t>(state_->bound);
}
int GrpcExchange::rank() const { return state_->rank; }
int GrpcExchange::size() const { return state_->ranks; }

void GrpcExchange::meet(int rank, const std::vector<std::string>& addresses) {
  WEFT_CHECK(std::ssize(addresses) == state_->ranks && 0 <= rank &&
             rank < state_->ranks);
  state_->rank = rank;
  for (int peer = 0; peer < state_->ranks; ++peer) {
    if (peer == rank) {
      state_->stubs.emplace_back();
      continue;
    }
    grpc::ChannelArguments arguments;
    // Whoever is started last is found soon.
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
    state_->stubs.push_back(Exchange::NewStub(grpc::CreateCustomChannel(
        addresses[static_cast<std::size_t>(peer)],
        grpc::InsecureChannelCredentials(), arguments)));
  }
}

std::vector<std::string> GrpcExchange::exchange(const std::string& phase,
                                                const std::string& text) {
  if (text.size() > kMostMessageBytes) {
    throw Error(ErrorCode::kDataLoss, fmt::format("rank {}", rank()),
                "wants to say {} bytes, and {} are the most", text.size(),
                kMostMessageBytes);
  }
  const std::int64_t step = ++state_->step;
  const auto until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(state_->timeout));
  Calls calls(rank());
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    calls.say(*state_->stubs[static_cast<std::size_t>(peer)], peer, step, text,
              until);
  }
  const auto heard = state_->heard.wait(step, rank(), until);
  std::map<int, std::string> lost;
  for (const Calls::Call& call : calls.wait()) {
    if (!call.status.ok()) lost[call.rank] = call.status.error_message();
  }
  std::vector<std::string> said(static_cast<std::size_t>(size()));
  for (int peer = 0; peer < size(); ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    if (peer == rank()) {
      said[at] = text;
    } else if (heard[at]) {
      said[at] = *heard[at];
    } else {
      lost.try_emplace(peer, "it said nothing");
    }
  }
  if (lost.empty()) return said;
  Error error(ErrorCode::kUnavailable, "market",
              "{} of {} ranks are gone in step {}, the {}: {} are here",
              lost.size(), size(), step, phase, size() - std::ssize(lost));
  for (const auto& [peer, why] : lost) {
    error.detail(fmt::format("rank {}: {}", peer, why));
  }
  throw error.hint(
      "start those that are left, if they are a majority, or all again");
}

}  // namespace weft::market
