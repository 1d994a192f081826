// weft sgd simulate ADVERSARY [DATA]: lock-free SGD whose threads an adversary
// schedules, step by step.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <memory>
#include <string>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/call_reader.h"
#include "weft/concurrent/sgd/adversarial_run.h"
#include "weft/data/libsvm.h"

namespace weft::cli {
namespace {

struct SgdSimulateArguments {
  std::string adversary;
  std::string data;
  std::string loss = "logistic";
  double l2 = 0;
  bool as_json = false;
  std::uint64_t seed = 1;
  concurrent::ScheduleOptions schedule;
  concurrent::QuadraticOptions quadratic;
};

std::string adversaries_text() {
  std::string text =
      "Adversaries, with their options; those that hold gradients back do so "
      "for\nso many iterations of others:\n";
  for (const concurrent::AdversaryDef& def : adversary_registry().all()) {
    text += fmt::format(
        "  {}\n      {}\n",
        call_text(def.name, def.options, complete(def.options, {}, def.name)),
        def.summary);
  }
  return text +
         "\nWithout DATA it minimizes |x|^2 / 2 from an x of length 1. The "
         "paper's lower\nbound, 13.3 times the iterations:\n\n"
         "  weft sgd simulate \"freeze(delay=290)\" --rate 0.1 --iterations "
         "291";
}

Json bound_json(const std::optional<concurrent::SgdBound>& bound) {
  if (!bound) return nullptr;
  return {{"rate", number(bound->rate)},
          {"factor", number(bound->factor)},
          {"iterations", number(bound->iterations)}};
}

Json json_of(const SgdSimulateArguments& arguments,
             const concurrent::AdversarialRun& found) {
  const concurrent::DelayStatistics& delays = found.delays;
  Json json{{"adversary", arguments.adversary},
            {"threads", arguments.schedule.threads},
            {"iterations", delays.iterations},
            {"steps", found.run.steps},
            {"first_distance", number(found.first_distance)},
            {"distance", number(found.distance)},
            {"first_loss", number(found.first_loss)},
            {"loss", number(found.loss)},
            {"tau_max", delays.tau_max},
            {"tau_avg", number(delays.tau_avg)},
            {"worst_sum", delays.worst_sum},
            {"worst_sum_bound", number(delays.sum_bound)},
            {"lemma_holds", delays.lemma_holds(arguments.schedule.threads)}};
  json["slowdown"] = found.slowdown ? number(*found.slowdown) : Json(nullptr);
  json["reached"] =
      found.run.reached ? Json(*found.run.reached) : Json(nullptr);
  json["sequential_bound"] = bound_json(found.sequential);
  json["lock_free_bound"] = bound_json(found.lock_free);
  return json;
}

void print_bound(const char* name,
                 const std::optional<concurrent::SgdBound>& bound,
                 double failure) {
  if (!bound) return;
  fmt::print(
      "{:<12} rate {:.4g}, {:.4g} iterations fail with a probability of "
      "at most {}\n",
      name, bound->rate, bound->iterations, failure);
}

void print(const SgdSimulateArguments& arguments,
           const concurrent::AdversarialRun& found) {
  const int threads = arguments.schedule.threads;
  const concurrent::DelayStatistics& delays = found.delays;
  const auto row = [](const char* name, const std::string& text) {
    fmt::print("{:<12} {}\n", name, text);
  };
  row("run", fmt::format("{} iterations of {} threads, {} steps",
                         delays.iterations, threads, found.run.steps));
  row("distance",
      fmt::format("{:.6g}, from {:.6g}", found.distance, found.first_distance));
  row("loss", fmt::format("{:.6g}, from {:.6g}", found.loss, found.first_loss));
  row("delays", fmt::format("tau_max {}, tau_avg {:.2f} (at most {})",
                            delays.tau_max, delays.tau_avg, 2 * threads));
  row("lemma",
      fmt::format("{}: worst sum {} of at most {:.0f}, {} of {} threads bad in "
                  "a window",
                  delays.lemma_holds(threads) ? "holds" : "FAILS",
                  delays.worst_sum, delays.sum_bound + threads, delays.most_bad,
                  threads));
  if (found.slowdown)
    row("slowdown",
        fmt::format("{:.3f} times the iterations of a sequential run",
                    *found.slowdown));
  if (arguments.schedule.within > 0)
    row("success", found.run.reached
                       ? fmt::format("after {} iterations", *found.run.reached)
                       : "never");
  print_bound("sequential", found.sequential, arguments.quadratic.failure);
  print_bound("lock-free", found.lock_free, arguments.quadratic.failure);
}

void simulate_sgd(SgdSimulateArguments& arguments) {
  const auto call =
      parse_call(arguments.adversary, adversary_registry(), "adversary");
  const auto adversary = call.def->make(call.options, arguments.seed);
  arguments.quadratic.seed = arguments.seed;
  concurrent::AdversarialRun found;
  if (arguments.data.empty()) {
    found = concurrent::run_quadratic(*adversary, arguments.schedule,
                                      arguments.quadratic);
  } else {
    concurrent::SparseRows rows = read_libsvm(arguments.data);
    const concurrent::LinearModelOptions model{
        .loss = concurrent::linear_loss(arguments.loss),
        .l2 = arguments.l2,
        .seed = arguments.seed};
    if (model.loss != concurrent::LinearLoss::kSquared)
      make_binary(rows, arguments.data);
    found = concurrent::run_rows(rows, *adversary, arguments.schedule, model,
                                 arguments.quadratic.failure);
  }
  if (arguments.as_json) {
    print_json(json_of(arguments, found));
  } else {
    print(arguments, found);
  }
}

void add_sgd_simulate(CLI::App& verb) {
  auto arguments = std::make_shared<SgdSimulateArguments>();
  concurrent::ScheduleOptions& schedule = arguments->schedule;
  concurrent::QuadraticOptions& quadratic = arguments->quadratic;
  schedule.iterations = 1000;
  verb.add_option("ADVERSARY", arguments->adversary,
                  "who schedules the threads; see below")
      ->required();
  verb.add_option("DATA", arguments->data,
                  "train a linear model of these examples, in the form of "
                  "LIBSVM");
  verb.add_option("--threads", schedule.threads, "that are simulated")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  verb.add_option("--iterations", schedule.iterations, "of an epoch")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  verb.add_option("--epochs", schedule.epochs,
                  "FullSGD: each has a copy of x and half of the rate of the "
                  "one before")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb.add_option("--rate", schedule.rate, "of the first epoch")
      ->capture_default_str();
  verb.add_option("--block", schedule.block,
                  "entries of a step that reads or adds")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  verb.add_option("--within", schedule.within,
                  "squared distance from the optimum that is a success; 0: "
                  "none, and no bounds. Those of DATA need --l2")
      ->capture_default_str();
  verb.add_option("--dimensions", quadratic.dimensions, "without DATA")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  verb.add_option("--noise", quadratic.noise,
                  "of each entry of a gradient, without DATA")
      ->capture_default_str();
  verb.add_option("--failure", quadratic.failure,
                  "probability that the bounds are for")
      ->capture_default_str();
  verb.add_option("--loss", arguments->loss, "of DATA")
      ->check(CLI::IsMember(concurrent::linear_loss_names()))
      ->capture_default_str();
  verb.add_option("--l2", arguments->l2, "of DATA")->capture_default_str();
  verb.add_option("--seed", arguments->seed,
                  "of samples, noise and random schedules")
      ->capture_default_str();
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.footer(adversaries_text());
  verb.callback([arguments] { simulate_sgd(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_sgd_simulate(cli::VerbRegistry& verbs) {
  verbs.add({.name = "sgd simulate",
             .summary = "Let an adversary schedule the threads of an SGD",
             .order = 10,
             .add = cli::add_sgd_simulate});
}

}  // namespace weft
