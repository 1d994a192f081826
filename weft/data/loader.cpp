#include "weft/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "weft/base/profile.h"
#include "weft/data/batch_maker.h"

namespace weft {
namespace {

const SpanKindRef& making() {
  static const SpanKindRef kind = span_kind({"make batch", "loader"});
  return kind;
}
const SpanKindRef& waiting() {
  static const SpanKindRef kind = span_kind({"wait for loader", "loader"});
  return kind;
}

}  // namespace

// A ring of prefetch + 1 slots. The taker holds the slot that it got last;
// the maker fills the others in order and waits when all are full.
class Loader::Worker {
 public:
  Worker(DatasetRef dataset, const LoaderOptions& options)
      : maker_(std::move(dataset), options),
        slots_(static_cast<std::size_t>(std::max(0, options.prefetch)) + 1) {
    for (auto& slot : slots_) slot.buffers = maker_.new_buffers();
  }

  ~Worker() { stop(); }

  const BatchMaker& maker() const { return maker_; }
  BatchPosition position() const { return next_; }

  const Batch& take() {
    // With no batch ahead there is no thread, and nothing to wait for.
    if (slots_.size() == 1) {
      const ProfiledSpan span(making());
      maker_.make(next_, slots_[0].buffers, slots_[0].batch);
      next_ = after(next_);
      return slots_[0].batch;
    }
    // Started here and not on construction, so that seek() costs nothing.
    if (!thread_.joinable()) start();
    std::unique_lock lock(mutex_);
    // Who takes the next batch has done with the last one, whose slot is free
    // now.
    released_ = taken_;
    room_.notify_one();
    {
      const ProfiledSpan span(waiting());
      ready_.wait(lock, [&] { return made_ > taken_ || error_; });
    }
    // Batches that were made before the failure are given out first.
    if (made_ == taken_) std::rethrow_exception(error_);
    Slot& slot = slots_[taken_ % slots_.size()];
    ++taken_;
    next_ = after(next_);
    return slot.batch;
  }

  void seek(BatchPosition position) {
    stop();
    const std::int64_t batches = maker_.batches_per_epoch();
    if (position.epoch < 0 || position.batch < 0 || position.batch > batches) {
      throw Error(ErrorCode::kInvalidArgument, "loader",
                  "there is no batch {} of {} in epoch {}", position.batch,
                  batches, position.epoch);
    }
    // A position behind the last batch is the first of the next epoch, so that
    // both ways to write it continue alike.
    next_ = position.batch == batches ? BatchPosition{position.epoch + 1, 0}
                                      : position;
  }

 private:
  struct Slot {
    std::vector<Tensor> buffers;
    Batch batch;
  };

  BatchPosition after(BatchPosition position) const {
    if (++position.batch == maker_.batches_per_epoch()) {
      return {position.epoch + 1, 0};
    }
    return position;
  }

  void start() {
    // No thread runs here, so nothing is locked. The slots are filled from the
    // first again.
    made_ = taken_ = released_ = 0;
    is_stopping_ = false;
    error_ = nullptr;
    thread_ = std::thread([this, first = next_] { run(first); });
  }

  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    room_.notify_one();
    thread_.join();
  }

  void run(BatchPosition position) noexcept {
    profile::name_thread("loader");
    std::unique_lock lock(mutex_);
    for (;; position = after(position)) {
      room_.wait(lock, [&] {
        return is_stopping_ || made_ < released_ + slots_.size();
      });
      if (is_stopping_) return;
      Slot& slot = slots_[made_ % slots_.size()];
      // Making takes long and touches nothing shared: the slot is not in the
      // taker's hands.
      lock.unlock();
      // An exception must not leave the thread: it waits for the next take().
      std::exception_ptr error;
      try {
        const ProfiledSpan span(making());
        maker_.make(position, slot.buffers, slot.batch);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error) {
        error_ = error;
        ready_.notify_one();
        return;
      }
      ++made_;
      ready_.notify_one();
    }
  }

  BatchMaker maker_;
  std::vector<Slot> slots_;
  BatchPosition next_;

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable room_;
  // These are guarded by mutex_.
  std::uint64_t made_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t released_ = 0;  // one less than taken_ while one is being read
  bool is_stopping_ = false;
  std::exception_ptr error_;
};

Loader::Loader(DatasetRef dataset, const LoaderOptions& options)
    : worker_(std::make_unique<Worker>(std::move(dataset), options)) {}

Loader::~Loader() = default;

const std::vector<BatchInput>& Loader::inputs() const {
  return worker_->maker().inputs();
}

std::int64_t Loader::batches_per_epoch() const {
  return worker_->maker().batches_per_epoch();
}

std::int64_t Loader::examples_per_epoch() const {
  return worker_->maker().examples_per_epoch();
}

const Batch& Loader::next() { return worker_->take(); }

BatchPosition Loader::position() const { return worker_->position(); }

void Loader::seek(BatchPosition position) { worker_->seek(position); }

}  // namespace weft
