// A PostgreSQL server of a test's own, in a temporary folder, that listens at a
// socket there and nowhere else.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::test {

class PostgresqlServer {
 public:
  // Throws Error(kUnavailable) with what the server's programs say.
  PostgresqlServer();
  PostgresqlServer(const PostgresqlServer&) = delete;
  PostgresqlServer& operator=(const PostgresqlServer&) = delete;
  ~PostgresqlServer();

  // The location of a new database of that name.
  std::string make_database(const std::string& name);
  // As after a crash: connections break, nothing is written at the end.
  void restart();

 private:
  void control(const std::string& action);
  void run(const std::vector<std::string>& command) const;

  std::filesystem::path folder_;
  std::filesystem::path programs_;
};

}  // namespace weft::test
