// Encrypted shards, keys and results: who can read what, and that nothing is
// changed unseen.
#include "tests/market/enclaves.h"

#include "weft/market/sealed_result.h"
#include "weft/market/shard_set.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using market::Digest;
using market::ShardKey;

class ShardFile : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  Digest write(const std::string& name, std::int64_t first,
               std::int64_t count) {
    return market::write_shard(path(name), key_, digits(),
                               rows_from(first, count));
  }
  TemporaryFolder folder_;
  ShardKey key_ = market::draw_shard_key();
};

TEST_F(ShardFile, IsCalledByItsBytesAndReadsBack) {
  // The first has several chunks.
  const Digest first = write("a", 0, 1100);
  EXPECT_EQ(first, market::digest_of_file(path("a")));
  const Digest second = write("b", 1100, 40);
  const market::ShardSet set(
      {{path("a"), first, key_}, {path("b"), second, key_}});
  EXPECT_EQ(set.sizes(), (std::vector<std::int64_t>{1100, 40}));
  const std::vector<std::int64_t> rows{1139, 0, 700};
  std::vector<Tensor> tensors[2];
  for (int side = 0; side < 2; ++side) {
    std::vector<TensorView> views;
    for (const Feature& feature : digits().features()) {
      std::vector<Dim> dims{3};
      for (const Dim dim : feature.type.shape.dims()) dims.push_back(dim);
      tensors[side].push_back(Tensor::zeros({feature.type.dtype, Shape(dims)}));
      views.push_back(tensors[side].back().view());
    }
    (side == 0 ? digits() : static_cast<const Dataset&>(set)).read(rows, views);
  }
  for (std::size_t i = 0; i < tensors[0].size(); ++i) {
    EXPECT_EQ(std::memcmp(tensors[0][i].raw(), tensors[1][i].raw(),
                          tensors[0][i].bytes()),
              0);
  }
  set.finish();
  EXPECT_EQ(set.reads(1), (std::vector<std::int64_t>{2, 1}));
}

TEST_F(ShardFile, RefusesAnyChange) {
  write("a", 0, 30);
  const std::string whole = bytes_of_file(path("a"));
  const auto read = [&](const std::string& bytes) {
    std::ofstream(path("changed"), std::ios::binary) << bytes;
    market::ShardReader reader(path("changed"), key_);
    std::vector<std::byte> examples;
    while (reader.read(examples)) {
    }
  };
  read(whole);
  for (std::size_t i = 0; i < whole.size(); i += 7) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 4);
    EXPECT_THROW(read(flipped), Error) << i;
  }
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{20}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_THROW(read(whole.substr(0, size)), Error) << size;
  }
  EXPECT_THROW(read(whole + "x"), Error);
  ShardKey other = key_;
  other[31] ^= 1;
  EXPECT_THROW(market::ShardReader(path("a"), other), Error);
}

TEST_F(ShardFile, IsNotAnotherOfTheSameOwner) {
  const Digest first = write("a", 0, 30);
  write("b", 30, 30);
  // The owner's key opens it, but it is not what was accepted.
  const market::ShardSet set({{path("b"), first, key_}});
  expect_error(ErrorCode::kDataLoss, {"is not the shard that was asked for"},
               [&] { set.finish(); });
}

TEST_F(ShardFile, TellsNothingWithoutItsKey) {
  write("a", 0, 200);
  const std::string bytes = bytes_of_file(path("a"));
  EXPECT_EQ(bytes.find("digits"), std::string::npos);
  EXPECT_EQ(bytes.find("image"), std::string::npos);
}

TEST(ShardKeysTest, AreForTheirOwnerAlone) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "keys";
  const market::ShardKeys keys{
      {MarketScene::digest("a"), market::draw_shard_key()}};
  market::write_shard_keys(path, keys);
  EXPECT_EQ(market::read_shard_keys(path), keys);
  EXPECT_EQ(fs::status(path).permissions() & fs::perms::others_all,
            fs::perms::none);
  fs::permissions(path, fs::perms(0644));
  expect_error(ErrorCode::kInvalidArgument, {"others may read"},
               [&] { market::read_shard_keys(path); });
  const fs::path secret = folder.path() / "key";
  const market::SigningKey key;
  key.write(secret);
  EXPECT_EQ(market::SigningKey::read(secret).public_key(), key.public_key());
  EXPECT_THROW(key.write(secret), Error);
  fs::permissions(secret, fs::perms(0640));
  expect_error(ErrorCode::kInvalidArgument, {"others may read this key"},
               [&] { market::SigningKey::read(secret); });
}

TEST(ResultTest, IsForItsPayerAlone) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "result";
  const market::SigningKey payer;
  market::write_result(path, payer.public_key(), "the model");
  EXPECT_EQ(market::read_result(path, payer), "the model");
  EXPECT_EQ(bytes_of_file(path).find("model"), std::string::npos);
  const market::SigningKey other;
  expect_error(ErrorCode::kDataLoss, {"no result for this key"},
               [&] { market::read_result(path, other); });
}

}  // namespace
}  // namespace weft::test
