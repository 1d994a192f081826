#include "tests/support/postgresql_server.h"

#include <atomic>
#include <pwd.h>
#include <unistd.h>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/process.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

// Debian keeps programs of several versions beside each other.
fs::path newest_programs() {
  fs::path newest;
  const fs::path all = "/usr/lib/postgresql";
  if (fs::exists(all)) {
    for (const auto& version : fs::directory_iterator(all)) {
      const fs::path programs = version.path() / "bin";
      if (fs::exists(programs / "initdb")) newest = std::max(newest, programs);
    }
  }
  if (newest.empty()) {
    throw Error(ErrorCode::kUnavailable, all.string(),
                "no PostgreSQL server is installed")
        .hint("apt-get install postgresql");
  }
  return newest;
}

// The server refuses to run as root, and then is its own user's.
bool is_root() { return ::geteuid() == 0; }

}  // namespace

PostgresqlServer::PostgresqlServer() : programs_(newest_programs()) {
  // In memory where that is a folder: a server that is started again reads and
  // writes all that it has. The path of a socket has at most 107 bytes.
  static std::atomic<int> counter{0};
  folder_ = fmt::format("{}/weft-postgresql-{}-{}",
                        fs::exists("/dev/shm") ? "/dev/shm" : "/tmp",
                        ::getpid(), counter++);
  fs::create_directories(folder_);
  if (is_root()) {
    const passwd* user = ::getpwnam("postgres");
    if (user == nullptr ||
        ::chown(folder_.c_str(), user->pw_uid, user->pw_gid) != 0) {
      throw Error(ErrorCode::kUnavailable, folder_.string(),
                  "cannot be given to the user postgres");
    }
  }
  run({(programs_ / "initdb").string(), "-D", (folder_ / "data").string(), "-U",
       "weft", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"});
  control("start");
}

PostgresqlServer::~PostgresqlServer() {
  try {
    control("stop");
  } catch (const Error&) {  // it is not up
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string PostgresqlServer::make_database(const std::string& name) {
  run({(programs_ / "createdb").string(), "-h", folder_.string(), "-U", "weft",
       name});
  return fmt::format("postgresql://weft@/{}?host={}", name, folder_.string());
}

void PostgresqlServer::restart() { control("restart"); }

void PostgresqlServer::control(const std::string& action) {
  std::vector<std::string> command{(programs_ / "pg_ctl").string(),
                                   "-D",
                                   (folder_ / "data").string(),
                                   "-l",
                                   (folder_ / "log").string(),
                                   "-m",
                                   "immediate",
                                   "-w"};
  if (action != "stop") {
    command.insert(
        command.end(),
        {"-o", fmt::format("-c listen_addresses= -k {}", folder_.string())});
  }
  command.push_back(action);
  run(command);
}

void PostgresqlServer::run(const std::vector<std::string>& command) const {
  std::vector<std::string> whole;
  if (is_root()) whole = {"runuser", "-u", "postgres", "--"};
  whole.insert(whole.end(), command.begin(), command.end());
  const ProcessResult result = run_process(whole);
  if (result.exit_code != 0) {
    throw Error(ErrorCode::kUnavailable, command.front(), "ended with {}: {}",
                result.exit_code, result.errors);
  }
}

}  // namespace weft::test
