// The ways to decide a conflict, by name.
//
//   const auto policy = make_conflict_policy("random");
//   const Decision decision = policy->decide(conflict, random);
//
// Each is one file of policies/. Those of the paper weigh what is at stake
// (delay_law.h): B is what the one that would die has worked, plus
// `cleanup_ns`, doubled with each abort that it has suffered since its last
// commit, so that whoever is aborted again and again is waited for at last.
//
// Threads: policies are immutable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/registry.h"
#include "weft/concurrent/conflict/conflict.h"
#include "weft/concurrent/conflict/delay_law.h"

namespace weft::concurrent {

struct ConflictPolicyDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  std::unique_ptr<ConflictPolicy> (*make)(const Options& options);
};

using ConflictPolicyRegistry = Registry<ConflictPolicyDef>;

// Throws Error(kInvalidArgument) for an unknown name or option.
std::unique_ptr<ConflictPolicy> make_conflict_policy(
    std::string_view name, const Options& options = {});

// What policies have in common.

// `cleanup_ns`, the part of an abort that does not depend on what was done.
OptionSpec cleanup_option();
// A policy's number, which must be 0 or more.
double time_option(const Options& options, std::string_view name);

// The abort cost doubles this often at most.
inline constexpr int kMostDoublings = 6;

// `protocol` says which of the two dies. Throws Error(kInvalidArgument) for
// costs or counts that cannot be.
Stakes stakes_of(const ConflictInfo& conflict, Protocol protocol,
                 double cleanup_ns);
// The owner dies where it can.
Protocol protocol_of(const ConflictInfo& conflict);
AfterDelay after_delay(Protocol protocol);

}  // namespace weft::concurrent

namespace weft {

// It is filled from the files of weft/concurrent/conflict/policies.
const concurrent::ConflictPolicyRegistry& conflict_policy_registry();

}  // namespace weft
