#include "weft/comm/transport/shared_pipe.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "weft/base/error.h"

namespace weft::shared_pipe_test {
namespace {

constexpr std::size_t kCapacity = 1024;

// Zeroed memory, with a writer and a reader.
struct Pipe {
  std::vector<std::uint64_t> words =
      std::vector<std::uint64_t>(PipeMemory::size_for(kCapacity) / 8);
  PipeMemory memory{reinterpret_cast<std::byte*>(words.data()), kCapacity};
  PipeWriter writer{memory};
  PipeReader reader{memory};
};

// Bytes that differ from message to message and from place to place.
std::vector<std::byte> message_of(std::size_t size, std::size_t number) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((7 * i + 31 * number) % 251);
  }
  return bytes;
}

bool write(Pipe& pipe, std::uint32_t tag, std::span<const std::byte> message) {
  return pipe.writer.write({tag, 0, message.size()}, message);
}

// Whatever another process may have left there.
TEST(SharedPipe, RefusesDamagedHeaders) {
  const auto damaged = [](std::size_t word, std::uint64_t value) {
    Pipe pipe;
    EXPECT_TRUE(write(pipe, 5, message_of(100, 0)));
    // Two cache lines of counters, then the ring: tag and kind, then the size.
    pipe.words[16 + word] = value;
    try {
      pipe.reader.next();
    } catch (const Error& error) {
      return error.code() == ErrorCode::kDataLoss;
    }
    return false;
  };
  EXPECT_TRUE(damaged(1, 1000));
  EXPECT_TRUE(damaged(1, ~std::uint64_t{0}));
  EXPECT_TRUE(damaged(0, std::uint64_t{2} << 32));
  EXPECT_FALSE(damaged(1, 100));
}

TEST(SharedPipe, GivesPacketsInTheirOrder) {
  Pipe pipe;
  EXPECT_FALSE(pipe.reader.next());
  EXPECT_TRUE(write(pipe, 5, message_of(100, 0)));
  EXPECT_TRUE(pipe.writer.write({6, 1, 1 << 30}, {}));
  EXPECT_TRUE(write(pipe, 7, {}));

  const auto first = pipe.reader.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->tag, 5u);
  std::vector<std::byte> room(100);
  pipe.reader.take(*first, room);
  EXPECT_EQ(room, message_of(100, 0));

  const auto second = pipe.reader.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->is_announcement, 1u);
  EXPECT_EQ(second->bytes, std::uint64_t{1} << 30);
  pipe.reader.take(*second, {});

  const auto third = pipe.reader.next();
  ASSERT_TRUE(third);
  EXPECT_EQ(third->tag, 7u);
  EXPECT_EQ(third->bytes, 0u);
  pipe.reader.take(*third, {});
  EXPECT_FALSE(pipe.reader.next());
}

TEST(SharedPipe, HoldsTwoOfTheLargestMessagesAndThenRefuses) {
  Pipe pipe;
  const auto largest = message_of(pipe.writer.most_bytes(), 1);
  EXPECT_TRUE(write(pipe, 1, largest));
  EXPECT_TRUE(write(pipe, 2, largest));
  EXPECT_FALSE(write(pipe, 3, {}));
  pipe.reader.take(*pipe.reader.next(), {});  // the message is not wanted
  EXPECT_TRUE(write(pipe, 3, largest));
  std::vector<std::byte> room(largest.size());
  for (const std::uint32_t tag : {2u, 3u}) {
    const auto header = pipe.reader.next();
    ASSERT_TRUE(header);
    EXPECT_EQ(header->tag, tag);
    pipe.reader.take(*header, room);
    EXPECT_EQ(room, largest);
  }
}

TEST(SharedPipe, CarriesMessagesAroundTheEndOfItsRingBetweenThreads) {
  constexpr std::size_t kMessages = 5000;
  Pipe pipe;
  const auto size_of_message = [&](std::size_t number) {
    return number * 37 % (pipe.writer.most_bytes() + 1);
  };
  std::thread writer([&] {
    for (std::size_t i = 0; i < kMessages; ++i) {
      const auto message = message_of(size_of_message(i), i);
      while (!write(pipe, static_cast<std::uint32_t>(i), message)) {
        std::this_thread::yield();
      }
    }
  });
  std::size_t right = 0;
  for (std::size_t i = 0; i < kMessages; ++i) {
    std::optional<PacketHeader> header;
    while (!(header = pipe.reader.next())) std::this_thread::yield();
    std::vector<std::byte> room(header->bytes);
    pipe.reader.take(*header, room);
    if (header->tag == i && room == message_of(size_of_message(i), i)) ++right;
  }
  writer.join();
  EXPECT_EQ(right, kMessages);
}

}  // namespace
}  // namespace weft::shared_pipe_test
