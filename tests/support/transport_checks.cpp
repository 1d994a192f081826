#include "tests/support/transport_checks.h"

#include <algorithm>

#include "tests/support/exchanges.h"

#include "weft/comm/transport/async_engine.h"

namespace weft::test {

void expect(bool condition, const char* what) {
  if (!condition) throw Error(ErrorCode::kInternal, "check", "{}", what);
}

Task<> hear(Channel channel, int from, std::vector<int>& values) {
  const std::size_t bytes = co_await channel.receive(from, bytes_of(values));
  values.resize(bytes / sizeof(int));
}

Task<> tell(Channel channel, int to, std::vector<int> values) {
  co_await channel.send(to, bytes_of(values));
}

namespace {

int sum_of_ranks(const Transport& transport) {
  return transport.size() * (transport.size() - 1) / 2;
}

}  // namespace

void check_sums(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  std::vector<std::vector<int>> values;
  std::vector<Engine::Operation> operations;
  for (int i = 0; i < 60; ++i) {
    values.emplace_back(i % 10 == 0 ? 300000 : i, transport.rank() + i);
  }
  for (auto& each : values) {
    operations.push_back(engine.start(add_up(
        all.open({"add_up", fmt::format("i32[{}]", each.size())}), each)));
  }
  if (transport.rank() % 2 == 1) {
    std::reverse(operations.begin(), operations.end());
  }
  for (const auto& operation : operations) engine.wait(operation);
  for (int i = 0; i < 60; ++i) {
    const auto& each = values[static_cast<std::size_t>(i)];
    const int sum = sum_of_ranks(transport) + transport.size() * i;
    expect(std::all_of(each.begin(), each.end(),
                       [&](int value) { return value == sum; }),
           "a sum is wrong");
  }
}

namespace {

Task<> pass_lossy(Channel channel, std::size_t size) {
  const int after = channel.around(channel.rank() + 1);
  const int before = channel.around(channel.rank() - 1);
  const std::vector<int> sent(size, channel.rank() + static_cast<int>(size));
  for (const auto& [to, from] :
       {std::pair(after, before), std::pair(channel.rank(), channel.rank())}) {
    std::vector<int> heard(size);
    PartMap came;
    Transfer out = channel.send_lossy(to, std::as_bytes(std::span(sent)));
    Transfer in = channel.receive_lossy(from, bytes_of(heard), came);
    co_await out;
    co_await in;
    expect(came.is_complete(), "a part is missing");
    expect(heard == std::vector<int>(size, from + static_cast<int>(size)),
           "a value is wrong");
  }
}

}  // namespace

void check_lossy_messages(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  std::vector<Engine::Operation> operations;
  for (const std::size_t size : {0, 1, 335, 336, 337, 5000, 100000}) {
    operations.push_back(engine.start(
        pass_lossy(all.open({"pass", fmt::format("i32[{}]", size)}), size)));
  }
  for (const auto& operation : operations) engine.wait(operation);
}

void check_groups(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  std::vector<int> members;
  for (int rank = transport.rank() % 2; rank < all.size(); rank += 2) {
    members.push_back(rank);
  }
  Communicator group = all.split(members);
  std::vector<int> mine = {1};
  std::vector<int> everyone = {1};
  const auto first = engine.start(add_up(group.open({"add_up", ""}), mine));
  const auto second = engine.start(add_up(all.open({"add_up", ""}), everyone));
  engine.wait(second);
  engine.wait(first);
  expect(mine[0] == group.size() && everyone[0] == all.size(), "groups mix");
}

void check_own_messages(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  std::vector<int> values(10);
  const Channel self = all.open({"self", ""});
  const auto sent = engine.start(tell(self, all.rank(), {1, 2, 3}));
  engine.run(hear(self, all.rank(), values));
  engine.wait(sent);
  expect(values == std::vector<int>{1, 2, 3}, "a message to oneself");
}

void check_order(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  const std::vector<std::size_t> sizes = {10, 500000, 20, 500000, 0, 30000};
  const Channel channel = all.open({"order", ""});
  const Channel later = all.open({"later", ""});
  std::vector<Engine::Operation> sends;
  if (transport.rank() == 0) {
    for (const std::size_t size : sizes) {
      std::vector<int> values(size, static_cast<int>(size));
      sends.push_back(engine.start(tell(channel, 1, std::move(values))));
    }
    engine.run(tell(later, 1, {1}));
  } else if (transport.rank() == 1) {
    // All others are put aside.
    std::vector<int> last(1);
    engine.run(hear(later, 0, last));
    for (const std::size_t size : sizes) {
      std::vector<int> values(500000);
      engine.run(hear(channel, 0, values));
      expect(values == std::vector<int>(size, static_cast<int>(size)),
             "messages overtake each other");
    }
  }
  for (const auto& send : sends) engine.wait(send);
}

void check_async(Transport& transport) {
  Communicator all(transport);
  const auto network = transport.start_engine({.timeout = 5});
  for (int i = 0; i < 100; ++i) {
    std::vector<int> values = {transport.rank()};
    network->wait(network->submit([&] {
      return add_up(all.open({"sum", ""}), values);
    }));
    expect(values[0] == sum_of_ranks(transport), "a sum is wrong");
  }
  expect(network->traffic().busy_seconds > 0, "busy seconds");
}

void check_truncation(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  const Channel channel = all.open({"give", "i32[3] 'b'"});
  std::vector<int> values(3);
  if (transport.rank() == 0) {
    engine.run(tell(channel, 1, {1, 2, 3, 4}));
    engine.run(hear(all.open({"wait", ""}), 1, values));
  } else {
    engine.run(hear(channel, 0, values));
  }
}

void check_mismatch(Transport& transport) {
  Engine engine(transport, {.timeout = 60, .ask_after = 0.01});
  Communicator all(transport);
  std::vector<int> values(10);
  const char* tensor = transport.rank() == 2 ? "f32[10] 'b'" : "f32[10] 'a'";
  engine.run(add_up(all.open({"add_up", tensor}), values));
}

void check_failure(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  std::vector<int> values(10);
  if (transport.rank() == 1) {
    const Error error(ErrorCode::kNumeric, "step 7", "the loss is nan");
    engine.fail(error);
    throw error;
  }
  engine.run(add_up(all.open({"add_up", ""}), values));
}

}  // namespace weft::test
