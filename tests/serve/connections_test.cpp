#include "weft/serve/http/connections.h"

#include <gtest/gtest.h>

namespace weft::serve {
namespace {

struct Open final : Connection {
  void end() override { ends += 1; }
  int ends = 0;
};

struct ConnectionsTest : testing::Test {
  Server server{ServerOptions{}};
  Routes routes{server};
  Connections connections{routes, server.metrics(), HttpOptions{}};
};

TEST_F(ConnectionsTest, EndsAllThatAreOpen) {
  const auto first = std::make_shared<Open>(),
             second = std::make_shared<Open>();
  connections.add(first);
  connections.add(second);
  EXPECT_EQ(first->ends, 0);
  connections.end_all();
  EXPECT_EQ(first->ends, 1);
  EXPECT_EQ(second->ends, 1);
}

// A connection may be accepted just before the end and be counted just after;
// nobody would end it then, and the server would wait for it in vain.
TEST_F(ConnectionsTest, EndsWhatComesAfterTheEnd) {
  connections.end_all();
  const auto late = std::make_shared<Open>();
  connections.add(late);
  EXPECT_EQ(late->ends, 1);
}

TEST(Endpoint, AnAddressWithColonsStandsInBrackets) {
  EXPECT_EQ(endpoint_text("127.0.0.1", 8000), "127.0.0.1:8000");
  EXPECT_EQ(endpoint_text("::1", 0), "[::1]:0");
}

TEST_F(ConnectionsTest, WaitsForAllToClose) {
  const auto one = std::make_shared<Open>();
  connections.add(one);
  EXPECT_FALSE(connections.wait_until_closed(Clock::now()));
  connections.remove(one.get());
  EXPECT_TRUE(connections.wait_until_closed(Clock::now()));
}

}  // namespace
}  // namespace weft::serve
