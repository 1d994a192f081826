#include "weft/comm/transport/local_ranks.h"

namespace weft {
namespace {

class OneRank : public LocalRanks {
 public:
  explicit OneRank(std::unique_ptr<Transport> transport)
      : transport_(std::move(transport)) {}
  int first() const override { return transport_->rank(); }
  int count() const override { return 1; }
  int size() const override { return transport_->size(); }
  void run(const std::function<void(Transport&)>& body) override {
    body(*transport_);
  }

 private:
  std::unique_ptr<Transport> transport_;
};

class ThreadRanks : public LocalRanks {
 public:
  ThreadRanks(int size, ThreadWorldOptions options)
      : world_(size, std::move(options)), size_(size) {}
  int first() const override { return 0; }
  int count() const override { return size_; }
  int size() const override { return size_; }
  void run(const std::function<void(Transport&)>& body) override {
    world_.run(body);
  }

 private:
  ThreadWorld world_;
  int size_;
};

}  // namespace

std::unique_ptr<LocalRanks> one_rank(std::unique_ptr<Transport> transport) {
  return std::make_unique<OneRank>(std::move(transport));
}

std::unique_ptr<LocalRanks> thread_ranks(int size, ThreadWorldOptions options) {
  return std::make_unique<ThreadRanks>(size, std::move(options));
}

}  // namespace weft
