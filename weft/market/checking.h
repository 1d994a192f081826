// Checks of a training after the fact: another worker computes stages of it
// again, which are drawn once the report is there.
//
// A report commits its worker to the state behind each stage (stage_states.h).
// Only then the payer tells a secret to which the job was committed
// (challenge.h); from both follows which stages are drawn, so that neither the
// payer nor the worker decides. The worker opens the states that a checker
// needs, sealed for its machine; the checker says whether the stages hold.
// Where it says no, a second checker decides, and of worker and checker the one
// who is alone is slashed: nobody is on one other's word. If d of n stages are
// drawn, a worker that made m of them up is caught with probability 1 - C(n -
// m, d) / C(n, d).
//
// A payer that tells no secret in time has waived the check, as it has where
// nobody checks for what it pays. A worker that does not open its states in
// time is slashed.
//
// Threads: caller synchronises.
#pragma once

#include "weft/market/state.h"

namespace weft::market {

// The stages that are computed again: different ones, from 1, in their order.
// All of them where there are no more.
std::vector<std::int64_t> draw_stages(const Digest& market,
                                      const Digest& secret,
                                      const Report& report, std::int64_t draws);

// The assignment whose report is checked. The job must have one.
Assignment& checked_assignment(Job& job);
const Assignment& checked_assignment(const Job& job);
// The checker, of them all, that is at it; null where there is none.
Checker* running_checker(Job& job);
const Checker* running_checker(const Job& job);

// The report of the job is there, and waits for its check.
void begin_check(State& state, std::int64_t number,
                 std::vector<std::string>& notes);
// Stages are drawn by the secret, whose commitment is the caller's to look at.
void draw(State& state, std::int64_t number, const Digest& secret,
          std::vector<std::string>& notes);
// A checker has said what it found.
void take_verdict(State& state, std::int64_t number, bool holds,
                  std::vector<std::string>& notes);
// Time has passed: whoever is late loses stake, or the check.
void look_at_check(State& state, std::int64_t number,
                   std::vector<std::string>& notes);

// --- Matching ---
bool needs_checker(const Job& job);
// What a checker of that price is paid: its part of the report's work.
Amount check_due(const Job& job, Amount price);
Amount most_for_checker(const Job& job);

}  // namespace weft::market
