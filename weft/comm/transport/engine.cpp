#include "weft/comm/transport/engine.h"

#include <algorithm>

namespace weft {
namespace {

Error peer_failed(const Notice& notice) {
  return Error(ErrorCode::kUnavailable, fmt::format("rank {}", notice.from),
               notice.text);
}

// What whoever waits in an operation asks. Long texts are cut alike at both
// ends, so that what the network leaves out of them is no difference.
std::string question_of(const EnteredOperation& operation) {
  return EnteredOperations::to_text(operation).substr(0, kMostNoticeBytes);
}

}  // namespace

Engine::Engine(Transport& transport, const EngineOptions& options)
    : transport_(transport), options_(options) {}

// Tasks are never destroyed while a transfer may still resume them.
Engine::~Engine() {
  if (running_.empty()) return;
  fail(Error(ErrorCode::kCancelled, fmt::format("rank {}", transport_.rank()),
             "left while operations were under way"));
}

void Engine::run(Task<> task) { wait(start(std::move(task))); }

Engine::Operation Engine::start(Task<> task) {
  if (failure_) throw *failure_;
  auto operation = std::make_shared<Task<>>(std::move(task));
  // While nothing was under way nobody polled, and that silence is nobody's
  // fault.
  if (running_.empty()) last_arrival_ = transport_.now();
  running_.push_back(operation);
  operation->start();
  collect();
  return operation;
}

void Engine::wait(const Operation& operation) {
  while (!operation->is_done()) poll(kPollSeconds);
  operation->result();
}

bool Engine::poll(double seconds) {
  const bool something = transport_.poll(transport_.until_alarm(seconds));
  while (const auto notice = transport_.take_notice()) handle(*notice);
  // At every poll, because tasks that were resumed since may have begun new
  // transfers.
  if (failure_) transport_.fail_all(*failure_);
  transport_.resume_ready();
  collect();
  const double now = transport_.now();
  // A rank that waits for nobody has nothing to miss.
  if (something || transport_.oldest() == nullptr) {
    last_arrival_ = last_asked_ = now;
  } else if (now - last_arrival_ > options_.timeout) {
    give_up();
  } else if (now - last_asked_ > options_.ask_after) {
    last_asked_ = now;
    ask();
  }
  return something;
}

void Engine::collect() {
  for (std::size_t i = 0; i < running_.size();) {
    if (!running_[i]->is_done()) {
      ++i;
      continue;
    }
    // The list lets go of it before its failure is told, which resumes other
    // tasks.
    const Operation over = running_[i];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    if (const auto thrown = over->failure(); thrown && !failure_) {
      fail(error_of(thrown, fmt::format("rank {}", transport_.rank())));
    }
  }
}

void Engine::fail(const Error& error) {
  if (failure_) return;
  failure_ = error;
  for (int peer = 0; peer < transport_.size(); ++peer) {
    if (peer == transport_.rank()) continue;
    transport_.send_notice(
        peer, {Notice::Kind::kFailure, transport_.rank(), error.what()});
  }
  // A task may catch the error and start further transfers on its way out, so
  // this goes on until none is left.
  while (transport_.is_waited_for()) {
    transport_.fail_all(error);
    transport_.resume_ready();
  }
  transport_.resume_ready();
}

void Engine::handle(const Notice& notice) {
  if (notice.kind == Notice::Kind::kQuery) {
    answer_query(notice);
  } else if (notice.kind == Notice::Kind::kFailure && !failure_) {
    // Told by its rank to all: no need to pass it on.
    failure_ = peer_failed(notice);
  }
}

// Compares what another rank that waits for this one has entered with what was
// entered here under the same number.
void Engine::answer_query(const Notice& notice) {
  const auto theirs = EnteredOperations::from_text(notice.text);
  if (!theirs) return;
  const std::string* ours =
      transport_.entered().find(theirs->context, theirs->number);
  // A rank that has not come so far yet, or is in the same operation and slow,
  // is no mistake: the other one asks again, until the timeout.
  if (ours == nullptr ||
      question_of({theirs->context, theirs->number, *ours}) == notice.text) {
    return;
  }
  Error error(ErrorCode::kInvalidArgument, "communication",
              "ranks entered different operations as number {} of their group",
              theirs->number);
  error.detail(fmt::format("rank {}: {}", notice.from, theirs->text))
      .detail(fmt::format("rank {}: {}", transport_.rank(), *ours))
      .hint(
          "all ranks of a group must call the same operations in the same "
          "order, with the same shapes and dtypes");
  fail(error);
}

void Engine::ask() {
  std::vector<int> asked;
  for (const Transfer* transfer = transport_.oldest(); transfer != nullptr;
       transfer = Transport::next(*transfer)) {
    const int peer = transfer->route().peer;
    // The oldest transfer speaks for all that wait for this rank.
    if (std::find(asked.begin(), asked.end(), peer) != asked.end()) continue;
    asked.push_back(peer);
    transport_.send_notice(peer, {Notice::Kind::kQuery, transport_.rank(),
                                  question_of(transfer->operation())});
  }
}

void Engine::give_up() {
  const Transfer& transfer = *transport_.oldest();
  Error error(ErrorCode::kUnavailable,
              fmt::format("rank {}", transport_.rank()),
              "rank {} has not answered for {:.0f} s", transfer.route().peer,
              options_.timeout);
  error.detail(describe(transfer));
  fail(error);
}

}  // namespace weft
