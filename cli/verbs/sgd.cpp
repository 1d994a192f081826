// weft sgd DATA: lock-free stochastic gradient descent of a linear model, by
// threads of this machine.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <memory>
#include <string>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/concurrent/sgd/linear_run.h"
#include "weft/data/libsvm.h"

namespace weft::cli {
namespace {

struct SgdArguments {
  std::string data;
  std::string loss = "logistic";
  std::string variant = "hogwild";
  std::string out;
  bool as_json = false;
  concurrent::LinearRunOptions options;
};

constexpr const char* kSgdFooter = R"text(Variants:
  hogwild      load, add, store without a lock: what others add between is lost
  atomic       fetch-and-add: nothing is lost
  striped      a lock for each group of entries
  locked       a lock around each iteration
  round-robin  updates land in the order of iterations
  sequential   one thread

With one thread all leave the same bits; with more, what comes out depends on
when the threads run, and --seed repeats nothing.

DATA has a line "target index:value index:value …" for each example (LIBSVM).

  weft sgd rcv1_train.binary.gz --threads 2 --rate 0.5
  weft sgd rcv1_train.binary.gz --variant atomic --full --epochs 12
  weft sgd simulate "freeze(delay=290)")text";

std::string count_text(std::uint64_t number) {
  return grouped(static_cast<std::int64_t>(number));
}

void write_model(const std::string& path, const std::vector<double>& x) {
  // The file appears under its name when it is whole.
  AtomicFile file(path);
  std::string text;
  for (const double value : x) text += fmt::format("{}\n", value);
  file.write(text);
  file.commit();
}

Json epoch_json(const concurrent::LinearEpoch& epoch) {
  const auto& run = epoch.run;
  return {{"epoch", epoch.number},
          {"rate", number(epoch.rate)},
          {"loss", number(epoch.loss)},
          {"seconds", number(epoch.seconds)},
          {"iterations", run.iterations},
          {"changes", run.changes},
          {"rereads", run.rereads},
          {"iterations_per_s",
           number(static_cast<double>(run.iterations) / run.seconds)}};
}

void print_heading(const SgdArguments& arguments,
                   const concurrent::SparseRows& rows) {
  fmt::print("{}: {} examples, {} features, {:.1f} entries in each\n",
             printable(arguments.data), count_text(rows.rows()),
             count_text(rows.width),
             static_cast<double>(rows.columns.size()) /
                 static_cast<double>(rows.rows()));
  fmt::print("{:>5} {:>10} {:>10} {:>9} {:>14} {:>14}\n", "epoch", "rate",
             "loss", "seconds", "iterations/s", "changes/s");
}

void print_epoch(const concurrent::LinearEpoch& epoch) {
  fmt::print("{:>5} {:>10.4g} {:>10.6f} {:>9.3f} {:>14.4g} {:>14.4g}\n",
             epoch.number, epoch.rate, epoch.loss, epoch.seconds,
             static_cast<double>(epoch.run.iterations) / epoch.run.seconds,
             static_cast<double>(epoch.run.changes) / epoch.run.seconds);
}

void print_delays(const concurrent::LinearRun& run, int threads) {
  const concurrent::DelayStatistics& delays = run.delays;
  if (delays.iterations > 0)
    fmt::print(
        "delays of the first {} iterations: tau_avg {:.2f} (at most {}), "
        "tau_max {}; worst sum {} of at most {:.0f}\n",
        count_text(delays.iterations), delays.tau_avg, 2 * threads,
        count_text(delays.tau_max), count_text(delays.worst_sum),
        delays.sum_bound);
  if (run.lost)
    fmt::print("lost: {:.4g} % of integer additions\n", 100 * *run.lost);
}

Json json_of(const SgdArguments& arguments, const concurrent::SparseRows& rows,
             const concurrent::LinearRun& run) {
  Json epochs = Json::array();
  for (const auto& epoch : run.epochs) epochs.push_back(epoch_json(epoch));
  Json json{{"data", arguments.data},
            {"examples", rows.rows()},
            {"entries", rows.columns.size()},
            {"features", rows.width},
            {"loss", arguments.loss},
            {"variant", arguments.variant},
            {"threads", arguments.options.sgd.threads},
            {"first_loss", number(run.first_loss)},
            {"epochs", epochs},
            {"traced", run.delays.iterations},
            {"tau_avg", number(run.delays.tau_avg)},
            {"tau_max", run.delays.tau_max},
            {"worst_sum", run.delays.worst_sum},
            {"worst_sum_bound", number(run.delays.sum_bound)}};
  json["lost"] = run.lost ? number(*run.lost) : Json(nullptr);
  json["out"] = arguments.out.empty() ? Json(nullptr) : Json(arguments.out);
  return json;
}

void sgd(SgdArguments& arguments) {
  concurrent::LinearRunOptions& options = arguments.options;
  options.model.loss = concurrent::linear_loss(arguments.loss);
  options.sgd.kind = concurrent::update_kind(arguments.variant);
  // Who works alone has nothing for a second thread to do.
  if (options.sgd.threads == 0)
    options.sgd.threads =
        options.sgd.kind == concurrent::UpdateKind::kSequential
            ? 1
            : thread_count();
  concurrent::SparseRows rows = read_libsvm(arguments.data);
  if (options.model.loss != concurrent::LinearLoss::kSquared)
    make_binary(rows, arguments.data);
  bool is_first = true;
  const concurrent::LinearRun run = concurrent::run_linear(
      rows, options, [&](const concurrent::LinearEpoch& epoch) {
        if (arguments.as_json) return;
        // What fails at once has printed nothing.
        if (is_first) print_heading(arguments, rows);
        is_first = false;
        print_epoch(epoch);
      });
  if (!arguments.out.empty()) write_model(arguments.out, run.x);
  if (arguments.as_json) {
    print_json(json_of(arguments, rows, run));
    return;
  }
  print_delays(run, options.sgd.threads);
  if (!arguments.out.empty())
    fmt::print("written to {}\n", printable(arguments.out));
}

void add_sgd(CLI::App& verb) {
  auto arguments = std::make_shared<SgdArguments>();
  concurrent::LinearRunOptions& options = arguments->options;
  verb.add_option("DATA", arguments->data,
                  "examples in the form of LIBSVM; .gz too");
  verb.add_option("--loss", arguments->loss, "logistic, hinge or squared")
      ->check(CLI::IsMember(concurrent::linear_loss_names()))
      ->capture_default_str();
  verb.add_option("--variant", arguments->variant,
                  "how threads bring in their updates; see below")
      ->check(CLI::IsMember(concurrent::update_kind_names()))
      ->capture_default_str();
  verb.add_option("--threads", options.sgd.threads,
                  "as many as there are cores, unless given")
      ->check(CLI::Range(1, 1024));
  verb.add_option("--epochs", options.epochs, "passes over all examples")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  verb.add_option("--rate", options.sgd.rate, "of the first epoch")
      ->capture_default_str();
  verb.add_option("--decay", options.decay, "of the rate, from epoch to epoch")
      ->capture_default_str();
  verb.add_flag("--full", options.is_full,
                "FullSGD: an epoch has a copy of the model and half of the "
                "rate of the one before, and threads do not meet between");
  verb.add_option("--l2", options.model.l2, "times half of the model's square")
      ->capture_default_str();
  verb.add_option("--seed", options.model.seed, "of the order of examples")
      ->capture_default_str();
  verb.add_option("--batch", options.sgd.batch,
                  "iterations that a thread takes at a time: 64, or 1 in "
                  "round-robin, unless given")
      ->check(CLI::Range(1, 1 << 20));
  verb.add_flag("--snapshot", options.sgd.snapshot,
                "repeat each read until two in a row agree");
  verb.add_flag("--f64", options.is_double, "in the place of f32");
  options.sgd.traced = 100'000;
  verb.add_option("--trace", options.sgd.traced,
                  "iterations of the first epoch whose delays are measured")
      ->check(CLI::Range(0, 1 << 28))
      ->capture_default_str();
  verb.add_flag("--count-lost", options.counts_lost,
                "count the additions that are lost, in an epoch of integers");
  verb.add_option("--out", arguments->out,
                  "write the model there, a line for "
                  "each feature")
      ->type_name("FILE");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.footer(kSgdFooter);
  // 0 stands for a number that was not given.
  options.sgd.threads = 0;
  verb.callback([&verb, arguments] {
    // What hangs below has data of its own.
    if (!verb.get_subcommands().empty()) return;
    if (arguments->data.empty()) throw CLI::RequiredError("DATA");
    sgd(*arguments);
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_sgd(cli::VerbRegistry& verbs) {
  verbs.add({.name = "sgd",
             .summary = "Train a linear model by threads that do not wait",
             .order = 101,
             .add = cli::add_sgd});
}

}  // namespace weft
