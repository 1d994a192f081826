// Where a task is ended while messages are on their way to it, as by another
// rank's death, their senders may be writing until the moment at which each
// receive is taken back: whatever is received into must outlive the receive.
#include <cstring>
#include <gtest/gtest.h>

#include "tests/support/idle_transport.h"

#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/sparse/all_reduce.h"
#include "weft/comm/transport/communicator.h"

namespace weft::abandoned_test {
namespace {

// One of four ranks, which hears nothing. What it gives up is written to once
// more: memory that is free by then is found damaged, at the latest by the
// address sanitizer.
class Unheard : public test::IdleTransport {
 public:
  int size() const override { return 4; }
  // What is folded needs no room.
  bool can_fold(int, std::size_t) const override { return false; }
  int abandoned() const { return abandoned_; }

 protected:
  void start(Transfer& transfer) override {
    if (transfer.kind() != Transfer::Kind::kSend) return;
    finish(transfer, transfer.bytes());
  }
  void abandon(Transfer& transfer) noexcept override {
    if (transfer.kind() != Transfer::Kind::kReceive) return;
    std::memset(transfer.data(), 0xff, transfer.bytes());
    ++abandoned_;
  }

 private:
  int abandoned_ = 0;
};

class Dense : public ::testing::TestWithParam<std::string> {};

TEST_P(Dense, RoomsOutliveWhatIsReceivedIntoThem) {
  Unheard transport;
  Communicator all(transport);
  std::vector<float> values(1000, 1.0f);
  {
    Task<> task = AllReduce(GetParam())
                      .prepare(all, DType::kF32, values.size())
                      .run(std::as_writable_bytes(std::span(values)).data());
    task.start();
    ASSERT_FALSE(task.is_done());
  }
  EXPECT_GT(transport.abandoned(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Dense,
                         ::testing::ValuesIn(names_of(all_reduce_registry())),
                         [](const auto& info) { return info.param; });

class Sparse : public ::testing::TestWithParam<std::string> {};

TEST_P(Sparse, RoomsOutliveWhatIsReceivedIntoThem) {
  Unheard transport;
  Communicator all(transport);
  std::vector<float> values(1000);
  values[7] = 1;
  Stream stream = Stream::of_dense(std::span<const float>(values));
  {
    Task<> task =
        sparse_all_reduce_registry()
            .get(GetParam())
            .run(all.open({"sparse_all_reduce", GetParam()}), stream, {});
    task.start();
    ASSERT_FALSE(task.is_done());
  }
  EXPECT_GT(transport.abandoned(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, Sparse, ::testing::ValuesIn(names_of(sparse_all_reduce_registry())),
    [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft::abandoned_test
