// Somebody asks for a computation on shards, and puts down what it may cost.
#include <algorithm>

#include "weft/market/settlement.h"
#include "weft/market/subset.h"
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

constexpr std::int64_t kMostRedundancy = 5;
constexpr std::int64_t kMostChecks = 256;

Error refused_job(std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, "submit_job", "{}", what);
}

void find_shards(const State& state, const Fields& fields, Job& job) {
  const auto& contents = fields.keys("contents");
  const auto& owners = fields.keys("owners");
  if (contents.empty()) throw refused_job("it names no shard");
  if (contents.size() != owners.size()) {
    throw refused_job(fmt::format("it names {} shards and {} owners",
                                  contents.size(), owners.size()));
  }
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto found = state.shard_of_content.find(contents[i]);
    if (found == state.shard_of_content.end()) {
      throw refused_job("there is no shard " + to_hex(contents[i]));
    }
    if (std::ranges::find(job.shards, found->second) != job.shards.end()) {
      throw refused_job("it names a shard twice");
    }
    if (entry(state.shards, found->second, "shard").curator != owners[i]) {
      throw refused_job(short_name(owners[i]) + " is not the owner of shard " +
                        std::to_string(found->second));
    }
    job.shards.push_back(found->second);
  }
}

void count_reads(const State& state, Job& job) {
  std::vector<std::int64_t> sizes;
  std::int64_t all = 0;
  for (const std::int64_t shard : job.shards) {
    sizes.push_back(entry(state.shards, shard, "shard").examples);
    all = sum_of(all, sizes.back(), "the examples");
  }
  Amount reads = 0;
  for (const std::int64_t count :
       examples_by_shard(parse_subset(job.subset, all), sizes)) {
    job.reads_due.push_back(scaled(count, job.epochs, 1, "the reads"));
    reads = sum_of(reads, job.reads_due.back(), "the reads");
  }
  // This throws for more work than can be counted.
  scaled(reads, job.units_per_example, 1, "the work");
  if (job.task == "tryrun" && reads > state.genesis.most_tryrun_reads) {
    throw refused_job(fmt::format("a tryrun may read {} examples, not {}",
                                  state.genesis.most_tryrun_reads, reads));
  }
}

std::vector<Condition> conditions_of(const std::vector<std::string>& texts) {
  std::vector<Condition> conditions;
  for (const std::string& text : texts) {
    conditions.push_back(parse_condition(text));
  }
  return conditions;
}

// What is computed again, and what it may cost.
void read_checking(const Fields& fields, Job& job) {
  Checking& checking = job.checking;
  checking.draws = fields.number("checks");
  checking.stage_steps = fields.number("stage");
  checking.gas = fields.number("check_gas");
  checking.commitment = fields.key("commitment");
  if (checking.draws == 0) {
    if (checking.stage_steps != 0 || checking.gas != 0 ||
        checking.commitment != Digest{}) {
      throw refused_job(
          "without checks it needs no stage, check_gas and "
          "commitment");
    }
    return;
  }
  if (job.task != "training" && job.task != "tryrun") {
    throw refused_job("checks are of the stages of a training, which " +
                      job.task + " has not: redundancy=2 compares it");
  }
  if (job.redundancy > 1) {
    throw refused_job(
        "workers whose outputs must agree check each other: "
        "either redundancy or checks");
  }
  if (checking.draws > kMostChecks) {
    throw refused_job(fmt::format("it has more than {} checks", kMostChecks));
  }
  if (checking.gas < 2) {
    throw refused_job("its check_gas pays for no checker: two may be needed");
  }
  if (checking.commitment == Digest{}) {
    throw refused_job("it is committed to no secret to draw stages by");
  }
}

Job job_from(const State& state, const Action& action) {
  const Fields& fields = action.fields;
  Job job{.payer = action.account,
          .task = fields.text("task"),
          .subset = fields.text("subset"),
          .epochs = fields.number("epochs"),
          .model = fields.key("model"),
          .measurement = fields.key("measurement"),
          .units_per_example = fields.number("units_per_example"),
          .gas = fields.number("gas"),
          .seconds = fields.number("seconds"),
          .redundancy = fields.number("redundancy"),
          .pays_by_value = fields.text("pays_by") == "value",
          .pays_curators = fields.text("pays") == "curators",
          .needs = conditions_of(fields.texts("needs")),
          .pays_when = conditions_of(fields.texts("pays_when"))};
  if (job.epochs < 1) throw refused_job("it reads nothing in 0 epochs");
  if (job.gas < 1) throw refused_job("it puts nothing down");
  if (job.seconds < 1) throw refused_job("it leaves its workers no time");
  if (job.redundancy < 1 || job.redundancy > kMostRedundancy) {
    throw refused_job(
        fmt::format("its redundancy is not from 1 to {}", kMostRedundancy));
  }
  read_checking(fields, job);
  job.deadline = sum_of(state.time, fields.number("patience"), "the deadline");
  find_shards(state, fields, job);
  count_reads(state, job);
  return job;
}

void apply_submit_job(State& state, const Action& action) {
  Job job = job_from(state, action);
  // All that it may cost is put down at once, so that nobody works for a payer
  // who has spent the money elsewhere; the rest comes back as the job ends.
  job.escrow = sum_of(job.gas, job.checking.gas, "the gas");
  state.take(action.account, job.escrow);
  job.slots = job.redundancy;
  for (const std::int64_t number : job.shards) {
    const Shard& shard = entry(state.shards, number, "shard");
    job.periods.push_back(
        entry(state.associations,
              entry(state.databases, shard.database, "database").association,
              "association")
            .begin_job());
  }
  state.jobs.push_back(std::move(job));
  state.live_jobs.insert(std::ssize(state.jobs));
  action.notes.push_back(fmt::format("job {} is there", state.jobs.size()));
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_submit_job(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add(
      {.name = "submit_job",
       .summary = "ask for a computation on shards",
       .fields =
           {{.name = "task",
             .kind = FieldKind::kText,
             .summary = "what is done; a tryrun tells its metric alone",
             .choices = {"training", "inference", "tryrun", "valuation"}},
            {.name = "contents",
             .kind = FieldKind::kKeys,
             .summary = "digests of the shards"},
            {.name = "owners",
             .kind = FieldKind::kKeys,
             .summary = "their curators, in the same order"},
            {.name = "subset",
             .kind = FieldKind::kText,
             .summary = "examples, as 20,40,100-199; empty: all",
             .is_optional = true},
            {.name = "epochs", .summary = "times that each example is read"},
            {.name = "model",
             .kind = FieldKind::kKey,
             .summary = "digest of the model to begin with",
             .is_optional = true},
            {.name = "measurement",
             .kind = FieldKind::kKey,
             .summary = "of the program, as weft market measure prints it"},
            {.name = "units_per_example",
             .summary = "of work, as weft market measure prints it"},
            {.name = "gas", .summary = "the most that it may cost"},
            {.name = "seconds", .summary = "that a worker has"},
            {.name = "patience",
             .summary = "seconds after which the job is given up"},
            {.name = "redundancy", .summary = "workers that must agree"},
            {.name = "checks",
             .summary = "stages of the training that another worker computes "
                        "again, drawn when it has reported",
             .is_optional = true},
            {.name = "stage",
             .summary = "steps of a stage; 0: those of an epoch",
             .is_optional = true},
            {.name = "check_gas",
             .summary = "the most that checkers may cost, half of it each",
             .is_optional = true},
            {.name = "commitment",
             .kind = FieldKind::kKey,
             .summary = "of the secret that stages are drawn by; weft market "
                        "send makes it of the key",
             .is_optional = true},
            {.name = "pays_by",
             .kind = FieldKind::kText,
             .summary = "by what shards of a database are paid",
             .is_optional = true,
             .choices = {"usage", "value"}},
            {.name = "pays",
             .kind = FieldKind::kText,
             .summary = "who is paid for shards",
             .is_optional = true,
             .choices = {"holders", "curators"}},
            {.name = "needs",
             .kind = FieldKind::kTexts,
             .summary = "records BOOK/KIND/KEY that must be there before it "
                        "begins",
             .is_optional = true},
            {.name = "pays_when",
             .kind = FieldKind::kTexts,
             .summary = "records BOOK/KIND/KEY that must be there before data "
                        "are paid",
             .is_optional = true}},
       .apply = market::apply_submit_job});
}

}  // namespace weft
