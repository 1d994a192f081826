#include "weft/comm/transport/sim_ranks.h"

#include "weft/comm/transport/sim_endpoint.h"

namespace weft {

SimRanks::SimRanks(SimNetwork& network) : network_(network) {
  for (int rank = 0; rank < network.ranks(); ++rank) {
    // A rank does all that a thread of its own would: it builds, compiles and
    // trains models.
    fibers_.push_back(std::make_unique<Fiber>(Fiber::kThreadStack));
  }
  network_.fibers = this;
}

SimRanks::~SimRanks() { network_.fibers = nullptr; }

void SimRanks::run(const std::function<void(Transport&)>& body) {
  network_.begin();
  for (int rank = 0; rank < network_.ranks(); ++rank) {
    fiber(rank).start([this, &body, rank] {
      try {
        body(network_.endpoint(rank));
      } catch (const std::exception&) {
        network_.leave(rank, std::current_exception());
      }
      network_.end_one();
    });
    // Ranks begin in their order, which makes a run depend on the seed alone.
    ready(rank);
  }
  network_.finish([this] { return resume_ready(); });
}

void SimRanks::wait(int rank) { fiber(rank).suspend(); }

bool SimRanks::resume_ready() {
  if (ready_.empty()) return false;
  const int rank = ready_.front();
  ready_.pop_front();
  fiber(rank).resume();
  return true;
}

SimEngine::~SimEngine() { give_up(); }

AsyncEngine::Operation SimEngine::submit(std::function<Task<>()> make) {
  // Not as they end, which happens within their own frames.
  std::erase_if(kept_, [](const Operation& kept) { return kept->is_over; });
  auto operation = std::make_shared<Submitted>();
  operation->make = std::move(make);
  if (under_way_++ == 0) busy_since_ = now();
  kept_.push_back(operation);
  operation->task = std::make_shared<Task<>>(run(*operation));
  operation->task->start();
  transport_.resume_ready();
  return operation;
}

Task<> SimEngine::run(Submitted& operation) {
  try {
    co_await operation.make();
  } catch (const std::exception&) {
    const auto thrown = std::current_exception();
    operation.failure =
        error_of(thrown, fmt::format("rank {}", transport_.rank()));
    network_.leave(transport_.rank(), thrown);
  }
  if (--under_way_ == 0) busy_seconds_ += now() - busy_since_;
  end(operation);
}

void SimEngine::end(Submitted& operation) {
  operation.is_over = true;
  if (awaited_ == &operation) network_.fibers->ready(transport_.rank());
}

void SimEngine::step_aside_until_over(const Submitted& operation) {
  if (operation.is_over) return;
  awaited_ = &operation;
  network_.fibers->wait(transport_.rank());
  awaited_ = nullptr;
}

void SimEngine::check_alive() {
  const auto& failures = network_.options().failures;
  const auto own = failures.find(transport_.rank());
  if (own == failures.end() || now() < own->second) return;
  throw Error(
      ErrorCode::kUnavailable, fmt::format("rank {}", transport_.rank()),
      "is lost at {:g} s of the virtual clock, as it was to be", own->second)
      .hint(
          "--resume goes on from the last checkpoint, without "
          "simulate.failures if nobody is to be lost again");
}

void SimEngine::wait(const Operation& operation) {
  step_aside_until_over(*operation);
  check_alive();
  if (operation->failure) throw *operation->failure;
}

void SimEngine::fail(const Error& error) {
  network_.leave(transport_.rank(), std::make_exception_ptr(error));
}

void SimEngine::give_up() {
  if (under_way_ == 0) return;
  // Unlike a rank that leaves, it does not wait for what may still come.
  network_.fail(
      transport_.rank(),
      std::make_exception_ptr(Error(ErrorCode::kCancelled,
                                    fmt::format("rank {}", transport_.rank()),
                                    "left while operations were under way")));
  // They hold memory of the rank, which may be about to go; they all end now
  // that it has failed.
  for (const Operation& operation : kept_) step_aside_until_over(*operation);
}

Traffic SimEngine::traffic() const {
  return {.bytes_sent = transport_.bytes_sent(),
          .bytes_received = transport_.bytes_received(),
          .busy_seconds =
              busy_seconds_ + (under_way_ > 0 ? now() - busy_since_ : 0)};
}

// No operation of the network, whose busy seconds do not count it.
void SimEngine::charge(double seconds) {
  const auto computing = std::make_shared<Submitted>();
  computing->task = std::make_shared<Task<>>(pause(*computing, seconds));
  computing->task->start();
  step_aside_until_over(*computing);
  check_alive();
}

Task<> SimEngine::pause(Submitted& computing, double seconds) {
  co_await Pause(transport_, seconds);
  end(computing);
}

}  // namespace weft
