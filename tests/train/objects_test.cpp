#include "weft/train/files/objects.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/exact.h"
#include "tests/support/temporary_folder.h"

#include "weft/files/safetensors.h"
#include "weft/nn/linear.h"
#include "weft/nn/sequential.h"

namespace weft::objects_test {
namespace {

using test::expect_error;
using test::TemporaryFolder;
using testing::contents;
using testing::f32;
using Paths = std::vector<std::string>;

Variable number(float x) { return Variable(Tensor::scalar(x)); }

double value(const Variable& variable) { return variable.tensor().item(); }

TEST(Objects, ComeBackByTheNamesOfTheirEdges) {
  const TemporaryFolder folder;
  const Variable a = number(1);
  const Variable b = number(2);
  Object saved;
  saved.attach("first", a);
  Object inner;
  inner.attach("weight", b);
  saved.attach("layer", inner);
  save_objects(folder / "x.safetensors", saved);

  // The other way round, and with other values.
  const Variable c = number(0);
  const Variable d = number(0);
  Object other_inner;
  other_inner.attach("weight", d);
  Object other;
  other.attach("layer", other_inner);
  other.attach("first", c);
  restore_objects(folder / "x.safetensors", other).require_complete();
  EXPECT_EQ(value(c), 1);
  EXPECT_EQ(value(d), 2);
}

TEST(Objects, ReportWhatOneSideLacks) {
  const TemporaryFolder folder;
  const Variable a = number(1);
  const Variable gone = number(2);
  Object saved;
  saved.attach("a", a);
  saved.attach("gone", gone);
  save_objects(folder / "x.safetensors", saved);

  const Variable b = number(0);
  const Variable added = number(7);
  Object root;
  root.attach("a", b);
  root.attach("new", added);
  const Restored restored = restore_objects(folder / "x.safetensors", root);
  EXPECT_EQ(value(b), 1);
  EXPECT_EQ(value(added), 7);
  EXPECT_EQ(restored.missing(), Paths{"gone"});
  EXPECT_EQ(restored.unexpected(), Paths{"new"});
  expect_error(ErrorCode::kDataLoss,
               {"in the file only: gone", "in the program only: new"},
               [&] { restored.require_complete(); });
}

TEST(Objects, AreRestoredWhenTheyAppear) {
  const TemporaryFolder folder;
  const Variable a = number(5);
  Object leaf;
  leaf.attach("x", a);
  Object saved;
  saved.attach("late", leaf);
  save_objects(folder / "x.safetensors", saved);

  Object root;
  const Restored restored = restore_objects(folder / "x.safetensors", root);
  EXPECT_EQ(restored.missing(), (Paths{"late", "late.x"}));
  Object late;
  root.attach("late", late);
  EXPECT_EQ(restored.missing(), Paths{"late.x"});
  const Variable x = number(0);
  late.attach("x", x);
  EXPECT_EQ(value(x), 5);
  restored.require_complete();
}

TEST(Objects, TwoCopiesOfAModelDoNotClash) {
  const TemporaryFolder folder;
  const auto model = [](std::uint64_t seed) {
    nn::Sequential model{nn::Linear{2, 3}, nn::Linear{3, 1}};
    model.initialize(seed);
    return model;
  };
  const nn::Sequential one = model(1);
  const nn::Sequential two = model(2);
  Object saved;
  saved.attach("one", object_of(one));
  saved.attach("two", object_of(two));
  save_objects(folder / "x.safetensors", saved);

  const nn::Sequential three = model(3);
  const nn::Sequential four = model(4);
  Object root;
  root.attach("two", object_of(four));
  root.attach("one", object_of(three));
  restore_objects(folder / "x.safetensors", root).require_complete();
  const auto weight = [](const nn::Module& module) {
    return nn::find_parameter(module, "1.weight")->variable.tensor();
  };
  EXPECT_TRUE(identical(weight(three), weight(one)));
  EXPECT_TRUE(identical(weight(four), weight(two)));
  EXPECT_NE(SafetensorsFile(folder / "x.safetensors").find("one.0.weight"),
            nullptr);
}

TEST(Objects, MayBeSharedAndFormCycles) {
  const TemporaryFolder folder;
  const Variable a = number(3);
  Object shared;
  shared.attach("x", a);
  Object saved;
  saved.attach("left", shared);
  saved.attach("right", shared);
  shared.attach("parent", saved);
  save_objects(folder / "x.safetensors", saved);
  EXPECT_EQ(SafetensorsFile(folder / "x.safetensors").entries().size(), 1u);

  const Variable b = number(0);
  Object again;
  again.attach("x", b);
  Object root;
  root.attach("left", again);
  root.attach("right", again);
  again.attach("parent", root);
  restore_objects(folder / "x.safetensors", root).require_complete();
  EXPECT_EQ(value(b), 3);

  // Circles end where an edge does.
  const std::weak_ptr<Object::Node> node = saved.node();
  saved = Object();
  EXPECT_FALSE(node.expired());
  shared.detach("parent");
  EXPECT_TRUE(node.expired());
  again.detach("parent");
}

TEST(Objects, RefuseOtherTypesAndDamage) {
  const TemporaryFolder folder;
  const Variable a(f32({2}, {1, 2}));
  Object saved;
  saved.attach("a", a);
  save_objects(folder / "x.safetensors", saved);
  const Variable b = number(0);
  Object root;
  root.attach("a", b);
  expect_error(ErrorCode::kDataLoss, {"'a'", "f32[2]", "f32[]"},
               [&] { restore_objects(folder / "x.safetensors", root); });
  write_safetensors(folder / "plain.safetensors", {});
  expect_error(ErrorCode::kDataLoss, {"no objects"}, [&] {
    restore_objects(folder / "plain.safetensors", Object());
  });
  for (const char* text :
       {"", "[]", "{\"format\":1}", "{\"format\":1,\"nodes\":[]}",
        "{\"format\":1,\"nodes\":[{}]}",
        "{\"format\":1,\"nodes\":[{\"edges\":{\"a\":1}}]}",
        "{\"format\":1,\"nodes\":[{\"edges\":{\"a\":-1}}]}",
        "{\"format\":1,\"nodes\":[{\"edges\":{},\"tensor\":3}]}"}) {
    expect_error(ErrorCode::kDataLoss, {"here"},
                 [&] { parse_objects(text, "here"); });
  }
  expect_error(ErrorCode::kUnsupported, {"here"},
               [] { parse_objects("{\"format\":2}", "here"); });
}

TEST(Objects, AVariableWithoutAValueCannotBeSaved) {
  const TemporaryFolder folder;
  const Variable empty(TensorType{DType::kF32, {}});
  Object root;
  root.attach("empty", empty);
  expect_error(ErrorCode::kInvalidArgument, {"'empty'"},
               [&] { save_objects(folder / "x.safetensors", root); });
}

}  // namespace
}  // namespace weft::objects_test
