// What mpi_transport_test.py runs under mpirun: weft-mpi-checks CHECK.
#include <algorithm>
#include <cstdio>
#include <map>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

#include "tests/support/exchanges.h"
#include "tests/support/placed_programs.h"

#include "weft/comm/graph/partitioned.h"
#include "weft/comm/transport/async_engine.h"
#include "weft/comm/transport/engine.h"
#include "weft/comm/transport/launcher.h"
#include "weft/place/rank_placer.h"

namespace weft {
namespace {

using test::add_up;
using test::bytes_of;

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

int sum_of_ranks(const Transport& transport) {
  return transport.size() * (transport.size() - 1) / 2;
}

// Small and large (rendezvous), many in flight, waited for in another order
// on each rank.
void check_sums(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  expect(transport.name() == "mpi" && transport.tag_bits() >= 20, "the world");
  expect(!transport.host(transport.size() - 1).empty(), "host names");
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

// A shorter message than its room, and one to oneself.
void check_sizes(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  std::vector<int> values(10);
  const Channel self = all.open({"self", ""});
  const auto sent = engine.start(tell(self, all.rank(), {1, 2, 3}));
  engine.run(hear(self, all.rank(), values));
  engine.wait(sent);
  expect(values == std::vector<int>{1, 2, 3}, "a message to oneself");
}

// Small messages and large ones take different ways.
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

// Refused before a byte of it is looked at.
void check_too_large(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  std::byte first{};
  const auto give = [&](Channel channel) -> Task<> {
    const std::size_t size = std::size_t{1} << 31;
    co_await channel.send((channel.rank() + 1) % channel.size(),
                          {&first, size});
  };
  engine.run(give(all.open({"give", "f32[536870912]"})));
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

// All but rank 1 wait for it; the test kills it.
void check_death(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  std::vector<int> values(10);
  engine.run(add_up(all.open({"add_up", ""}), values));
  std::printf("rank %d is process %d\n", transport.rank(), getpid());
  std::fflush(stdout);
  if (transport.rank() == 1) pause();
  engine.run(hear(all.open({"broadcast", "i32[10] 'conv1'"}), 1, values));
}

// A recursion and its gradient in parts, against the same graph on one rank.
void check_parts(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  const Graph graph = test::tree_program();
  RankPlacement placement =
      parse_placement("leaf=1 combine=2 tree=3", all.size());
  placement.arguments = {0, 0, 0, 1, 2, 2};
  placement.results.assign(4, RankPlacement::kEverywhere);
  const auto types = test::types_of(test::random_tree(1, 1));
  Partitioned parts(graph, "step", types, placement, all, engine);
  TaggedExecutor whole(lower(graph, "step", types, placement),
                       {.batching = Batching::kNever, .workers = 1});
  for (const int leaves : {1, 2, 9, 32, 5}) {
    const auto tree = test::random_tree(leaves, 3);
    const auto results = parts.run(tree);
    const auto expected = whole.run(tree);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect(identical(results[i], expected[i]),
             "the parts give other results");
    }
  }
}

// Tensors that are too large for one message.
void check_large_parts(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  const TensorType large{DType::kF32, {1000, 300}};
  Program program;
  const FunctionRef twice = program.define(
      "twice", {large},
      [](const test::Values& v) { return test::Values{v[0] * 2}; });
  program.define("main", {large}, [&](const test::Values& v) {
    test::Values values = v;
    for (int i = 0; i < 5; ++i) values = call(twice, values);
    return values;
  });
  Partitioned parts(program.build(), "main", std::vector{large},
                    parse_placement("twice=1", all.size()), all, engine);
  const Tensor x = test::pattern({1000, 300});
  const auto results = parts.run({{x}});
  if (transport.rank() != 0) return;
  const auto before = x.span<float>();
  const auto after = results[0].span<float>();
  for (std::size_t i = 0; i < before.size(); ++i) {
    expect(after[i] == 32 * before[i], "a large tensor is wrong");
  }
}

// A recursion without end on rank 2.
void check_endless_part(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  Program program;
  const FunctionRef f =
      program.declare("endless", {{test::kReal}, {test::kReal}});
  program.define(f, [&](const test::Values& x) {
    return cond(
        less(x[0], test::real(-1)), [&] { return test::Values{x[0]}; },
        [&] { return test::Values{test::call_one(f, {abs(x[0])}) + 1}; });
  });
  Partitioned parts(program.build(), "endless", std::vector{test::kReal},
                    parse_placement("endless=2", all.size()), all, engine,
                    {.max_frames = 1000});
  parts.run({{Tensor::scalar(1.0)}});
}

int run(const std::string& name) {
  static const std::map<std::string, void (*)(Transport&)> checks = {
      {"sums", check_sums},
      {"groups", check_groups},
      {"sizes", check_sizes},
      {"order", check_order},
      {"async", check_async},
      {"truncation", check_truncation},
      {"too_large", check_too_large},
      {"mismatch", check_mismatch},
      {"failure", check_failure},
      {"death", check_death},
      {"parts", check_parts},
      {"large_parts", check_large_parts},
      {"endless_part", check_endless_part}};
  const auto transport = open_launched_transport();
  if (transport == nullptr) {
    std::printf("alone\n");
    return 0;
  }
  const std::string who = fmt::format("rank {}", transport->rank());
  try {
    checks.at(name)(*transport);
  } catch (const Error& error) {
    std::fputs(fmt::format("{}: {}\n", who, error.what()).c_str(), stderr);
    return 1;
  }
  std::puts(fmt::format("{}: fine", who).c_str());
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  try {
    return weft::run(argc > 1 ? argv[1] : "");
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
