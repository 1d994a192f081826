// What mpi_transport_test.py runs under mpirun: weft-mpi-checks CHECK.
#include <cstdio>
#include <map>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

#include "tests/support/exchanges.h"
#include "tests/support/placed_programs.h"
#include "tests/support/transport_checks.h"

#include "weft/comm/graph/partitioned.h"
#include "weft/comm/transport/engine.h"
#include "weft/comm/transport/launcher.h"
#include "weft/place/rank_placer.h"

namespace weft {
namespace {

using test::add_up;
using test::expect;
using test::hear;

// The world of mpirun, and then what every transport is asked.
void check_sums(Transport& transport) {
  expect(transport.name() == "mpi" && transport.tag_bits() >= 20, "the world");
  expect(!transport.host(transport.size() - 1).empty(), "host names");
  test::check_sums(transport);
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
      {"groups", test::check_groups},
      {"sizes", test::check_own_messages},
      {"lossy", test::check_lossy_messages},
      {"order", test::check_order},
      {"async", test::check_async},
      {"truncation", test::check_truncation},
      {"too_large", check_too_large},
      {"mismatch", test::check_mismatch},
      {"failure", test::check_failure},
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
