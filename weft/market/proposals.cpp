#include "weft/market/proposals.h"

namespace weft::market {
namespace {

Error refused(const std::string& what) {
  return Error(ErrorCode::kInvalidArgument, "proposal", "{}", what);
}

void require_key(const Fields& fields, const char* name) {
  if (fields.key(name) == PublicKey{}) {
    throw refused(fmt::format("a {} has no '{}'", fields.text("kind"), name));
  }
}

void check_shard(const State& state, std::int64_t association,
                 const Fields& fields) {
  const Database& database =
      entry(state.databases, fields.number("database"), "database");
  if (database.association != association) {
    throw refused("the database is of another association");
  }
  if (state.shard_of_content.contains(fields.key("content"))) {
    throw refused(
        "these data are a shard already: nobody is paid for them "
        "twice");
  }
  if (fields.number("examples") == 0) throw refused("the shard has no example");
  const Association& of = entry(state.associations, association, "association");
  // This throws for more shares than there may be.
  sum_of(of.current().supply, fields.number("amount"), "the shares");
  if (fields.number("money") > of.treasury) {
    throw refused(fmt::format("the treasury has {}, less than {}", of.treasury,
                              fields.number("money")));
  }
}

void add_shard(State& state, std::int64_t number, const Fields& fields,
               std::vector<std::string>& notes) {
  Association& association = entry(state.associations, number, "association");
  const std::int64_t database = fields.number("database");
  state.shards.push_back({.database = database,
                          .curator = fields.key("recipient"),
                          .content = fields.key("content"),
                          .examples = fields.number("examples"),
                          .reward = fields.number("amount")});
  const std::int64_t shard = std::ssize(state.shards);
  entry(state.databases, database, "database").shards.push_back(shard);
  state.shard_of_content[fields.key("content")] = shard;
  if (!association.is_started) {
    // They were for the first vote. The owner may have given some away, and all
    // are burnt: nobody else can have any yet.
    association.is_started = true;
    association.symbolic = 0;
    const std::map<PublicKey, Amount> symbolic = association.current().shares;
    for (const auto& [holder, shares] : symbolic) {
      association.burn(holder, shares);
    }
  }
  association.mint(fields.key("recipient"), fields.number("amount"));
  if (const Amount money = fields.number("money"); money > 0) {
    association.treasury -= money;
    state.give(fields.key("recipient"), money);
    notes.push_back(fmt::format("{} is paid {} for it, once",
                                short_name(fields.key("recipient")), money));
  }
  notes.push_back(
      fmt::format("shard {} is in database {}, and {} has {} "
                  "shares for it",
                  shard, database, short_name(fields.key("recipient")),
                  fields.number("amount")));
  if (association.current().supply < association.rules.quorum) {
    notes.push_back(fmt::format(
        "warning: association {} has {} shares, fewer than the {} of its "
        "quorum: nothing can pass until its owner changes the rules",
        number, association.current().supply, association.rules.quorum));
  }
}

}  // namespace

const std::vector<FieldSpec>& payload_fields() {
  static const std::vector<FieldSpec> specs{
      {.name = "kind",
       .kind = FieldKind::kText,
       .summary = "what is to be done: pay money of the treasury, create a "
                  "database, or add a shard to one",
       .choices = {"payment", "database", "shard"}},
      {.name = "recipient",
       .kind = FieldKind::kKey,
       .summary = "who is paid, or the curator of the shard",
       .is_optional = true},
      {.name = "amount",
       .summary = "money that is paid, or shares that the curator gets",
       .is_optional = true},
      {.name = "money",
       .summary = "of the treasury, that the curator of a shard gets once, "
                  "instead of shares or beside them",
       .is_optional = true},
      {.name = "name",
       .kind = FieldKind::kText,
       .summary = "of the database",
       .is_optional = true},
      {.name = "price",
       .summary = "of a thousand reads of an example of the database",
       .is_optional = true},
      {.name = "database",
       .summary = "that the shard is for",
       .is_optional = true},
      {.name = "content",
       .kind = FieldKind::kKey,
       .summary = "digest of the encrypted shard",
       .is_optional = true},
      {.name = "examples",
       .summary = "that the shard has",
       .is_optional = true}};
  return specs;
}

Digest payload_digest(const Fields& fields) {
  return digest_of_bytes(fields.to_json_members(payload_fields()));
}

ProposalKind proposal_kind(const Fields& fields) {
  const std::string& kind = fields.text("kind");
  if (kind == "payment") return ProposalKind::kPayment;
  return kind == "database" ? ProposalKind::kDatabase : ProposalKind::kShard;
}

void check_names_all(const Fields& fields) {
  const ProposalKind kind = proposal_kind(fields);
  if (kind == ProposalKind::kDatabase) return;
  require_key(fields, "recipient");
  if (kind == ProposalKind::kShard) require_key(fields, "content");
}

void check_payload(const State& state, std::int64_t association,
                   const Fields& fields) {
  switch (proposal_kind(fields)) {
    case ProposalKind::kPayment: {
      const Amount there =
          entry(state.associations, association, "association").treasury;
      if (fields.number("amount") > there) {
        throw refused(fmt::format("the treasury has {}, less than {}", there,
                                  fields.number("amount")));
      }
      break;
    }
    case ProposalKind::kDatabase:
      if (fields.text("name").empty()) throw refused("a database has a name");
      break;
    case ProposalKind::kShard:
      check_shard(state, association, fields);
      break;
  }
}

void carry_out(State& state, std::int64_t association, const Fields& fields,
               std::vector<std::string>& notes) {
  switch (proposal_kind(fields)) {
    case ProposalKind::kPayment:
      entry(state.associations, association, "association").treasury -=
          fields.number("amount");
      state.give(fields.key("recipient"), fields.number("amount"));
      break;
    case ProposalKind::kDatabase:
      state.databases.push_back({.association = association,
                                 .name = fields.text("name"),
                                 .price = fields.number("price")});
      notes.push_back(
          fmt::format("database {} is there", state.databases.size()));
      break;
    case ProposalKind::kShard:
      add_shard(state, association, fields, notes);
      break;
  }
}

}  // namespace weft::market
