#include "weft/market/job.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft::market {
namespace {

constexpr std::string_view kReportContext = "weft market report";
constexpr std::string_view kVerdictContext = "weft market verdict";
constexpr std::string_view kMachineContext = "weft market machine";

void put(std::string& bytes, std::int64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    bytes += static_cast<char>(number >> shift & 0xff);
  }
}

void put(std::string& bytes, std::span<const std::uint8_t> part) {
  bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
}

void put_all(std::string& bytes, const std::vector<std::int64_t>& numbers) {
  put(bytes, std::ssize(numbers));
  for (const std::int64_t number : numbers) put(bytes, number);
}

std::string_view view_of(const PublicKey& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

}  // namespace

Condition parse_condition(const std::string& text) {
  const std::size_t first = text.find('/');
  const std::size_t second =
      first == std::string::npos ? first : text.find('/', first + 1);
  if (second == std::string::npos || first == 0 || second == first + 1 ||
      second + 1 == text.size()) {
    throw Error(ErrorCode::kInvalidArgument, "condition",
                "'{}' names no record of a ledger", text)
        .hint("BOOK/KIND/KEY, as in gate/release/model 7");
  }
  return {text.substr(0, first), text.substr(first + 1, second - first - 1),
          text.substr(second + 1)};
}

std::string to_text(const Condition& condition) {
  return fmt::format("{}/{}/{}", condition.book, condition.kind, condition.key);
}

std::string_view to_string(JobStatus status) {
  switch (status) {
    case JobStatus::kSuccess:
      return "success";
    case JobStatus::kPartial:
      return "partial_success";
    case JobStatus::kError:
      return "error";
  }
  WEFT_CHECK(false, "a status that there is not");
}

std::string_view to_string(AssignmentState state) {
  switch (state) {
    case AssignmentState::kRunning:
      return "running";
    case AssignmentState::kReported:
      return "reported";
    case AssignmentState::kRefuted:
      return "refuted";
    case AssignmentState::kLate:
      return "late";
    case AssignmentState::kReleased:
      return "released";
  }
  WEFT_CHECK(false, "a state that there is not");
}

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::kOpen:
      return "open";
    case JobState::kRunning:
      return "running";
    case JobState::kChecking:
      return "checking";
    case JobState::kWithheld:
      return "withheld";
    case JobState::kPaid:
      return "paid";
    case JobState::kFailed:
      return "failed";
  }
  WEFT_CHECK(false, "a state that there is not");
}

std::string bytes_of(const Report& report) {
  std::string bytes;
  put(bytes, report.job);
  put(bytes, report.nonce);
  put(bytes, report.measurement);
  put(bytes, report.inputs);
  put(bytes, report.outputs);
  put(bytes, static_cast<std::int64_t>(report.status));
  put_all(bytes, report.reads);
  put_all(bytes, report.values);
  // Reports of jobs without checks are signed as they were before there were
  // any.
  if (report.stages > 0) {
    put(bytes, report.stages);
    put(bytes, report.states);
  }
  return bytes;
}

Signature sign_report(const SigningKey& machine, const Report& report) {
  return machine.sign(kReportContext, bytes_of(report));
}

bool is_signed(const Report& report, const Signature& signature,
               const PublicKey& machine) {
  return is_signed_by(machine, signature, kReportContext, bytes_of(report));
}

std::string bytes_of(const Verdict& verdict) {
  std::string bytes;
  put(bytes, verdict.job);
  put(bytes, verdict.nonce);
  put(bytes, verdict.measurement);
  put(bytes, verdict.states);
  put(bytes, std::int64_t{verdict.holds});
  return bytes;
}

Signature sign_verdict(const SigningKey& machine, const Verdict& verdict) {
  return machine.sign(kVerdictContext, bytes_of(verdict));
}

bool is_signed(const Verdict& verdict, const Signature& signature,
               const PublicKey& machine) {
  return is_signed_by(machine, signature, kVerdictContext, bytes_of(verdict));
}

Signature certify_machine(const SigningKey& vendor, const PublicKey& machine) {
  return vendor.sign(kMachineContext, view_of(machine));
}

bool is_certified(const PublicKey& vendor, const PublicKey& machine,
                  const Signature& certificate) {
  return is_signed_by(vendor, certificate, kMachineContext, view_of(machine));
}

Assignment* running_assignment(Job& job, const PublicKey& worker) {
  const auto runs = [&](const Assignment& one) {
    return one.worker == worker && one.state == AssignmentState::kRunning;
  };
  for (Assignment& one : job.assignments) {
    if (runs(one)) return &one;
  }
  for (Checker& checker : job.checking.checkers) {
    if (runs(checker.assignment)) return &checker.assignment;
  }
  return nullptr;
}

const Assignment* running_assignment(const Job& job, const PublicKey& worker) {
  return running_assignment(const_cast<Job&>(job), worker);
}

Digest inputs_digest(const Job& job, const std::vector<Digest>& contents) {
  std::string bytes = "weft market inputs\n";
  put(bytes, std::ssize(contents));
  for (const Digest& content : contents) put(bytes, content);
  put(bytes, std::ssize(job.subset));
  bytes += job.subset;
  put(bytes, job.epochs);
  put(bytes, job.model);
  return digest_of_bytes(bytes);
}

}  // namespace weft::market
