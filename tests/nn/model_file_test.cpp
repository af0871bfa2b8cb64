#include "qw/nn/model_file.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "core/file.h"
#include "nn/tensor_file.h"
#include "support/support.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using test::error_of;

ModelConfig small_config(const std::string& name = "gcn") {
  ModelConfig config{name, {}, {8, 26, 5, 3}};
  config.options.hidden = 6;
  return config;
}

std::unique_ptr<Model> make(const ModelConfig& config, at::ScalarType type = at::kFloat, uint64_t seed = 3) {
  return find_model(config.model).make(config.shape, config.options, seed, type);
}

std::vector<std::pair<std::string, at::Tensor>> values_of(const Model& model) {
  std::vector<std::pair<std::string, at::Tensor>> values;
  for (const Parameter& parameter : model.parameters().all())
    values.emplace_back(parameter.name, parameter.value.detach().clone());
  for (const Buffer& buffer : model.parameters().buffers())
    values.emplace_back(buffer.name, buffer.value.clone());
  return values;
}

// The values of two models, after the type of the first has been given to the second's.
void expect_same_values(const Model& actual, const Model& expected) {
  const auto ours = values_of(actual), theirs = values_of(expected);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].first, theirs[i].first);
    EXPECT_TRUE(at::equal(ours[i].second, theirs[i].second.to(ours[i].second.scalar_type())))
        << ours[i].first;
  }
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

// A saved model that a test may spoil.
class ModelFile : public testing::Test {
 protected:
  ModelFile() { save_model(path_, small_config(), *make(small_config())); }

  std::string load_error() const {
    return error_of([&] { load_model(path_, at::kFloat); });
  }
  // After a change to the description; the error without the name of the file, which must stand first.
  std::string error_with(const std::function<void(Json&)>& change) const {
    Json document = Json::parse(read_file(config_));
    change(document);
    const fs::path spoilt = folder_.write("spoilt.json", document.dump());
    fs::copy_file(path_, folder_.path() / "spoilt.safetensors", fs::copy_options::overwrite_existing);
    const std::string text = error_of([&] { load_model(folder_.path() / "spoilt.safetensors", at::kFloat); });
    EXPECT_TRUE(text.starts_with(spoilt.string() + ": ")) << text;
    return text.substr(std::min(text.size(), spoilt.string().size() + 2));
  }
  // After a change to the tensors.
  std::string error_with_tensors(const std::function<void(std::vector<Buffer>&)>& change) const {
    std::vector<Buffer> tensors = read_tensors(path_);
    change(tensors);
    const fs::path spoilt = folder_.path() / "other.safetensors";
    write_tensors(spoilt, tensors);
    const auto model = make(small_config());
    const std::string text = error_of([&] { load_parameters(spoilt, *model); });
    expect_same_values(*model, *make(small_config()));  // nothing was written
    EXPECT_TRUE(text.starts_with(spoilt.string() + ": ")) << text;
    return text.substr(std::min(text.size(), spoilt.string().size() + 2));
  }

  test::TemporaryFolder folder_;
  fs::path path_ = folder_.path() / "gcn.safetensors";
  fs::path config_ = folder_.path() / "gcn.json";
};

TEST_F(ModelFile, DescribesTheModel) {
  const Json document = Json::parse(read_file(config_));
  EXPECT_EQ(document.at("schema"), 1);
  EXPECT_EQ(document.at("model"), "gcn");
  EXPECT_EQ(document.at("options").at("hidden"), 6);
  EXPECT_EQ(document.at("shape").dump(), R"({"nodes":8,"entries":26,"inputs":5,"outputs":3})");
  EXPECT_EQ(names_in(folder_.path()), (std::set<std::string>{"gcn.json", "gcn.safetensors"}));
}

TEST_F(ModelFile, EveryOptionComesBack) {
  ModelConfig config = small_config("bernnet");
  config.options = {7, 3, 0.1, "batch", true, 2, 4, 0.30000000000000004, 1e-5};
  const fs::path path = folder_.path() / "deep" / "folder" / "b.safetensors";
  save_model(path, config, *make(config));
  const LoadedModel loaded = load_model(path, at::kFloat);
  const ModelOptions& options = loaded.config.options;
  EXPECT_EQ(loaded.config.model, "bernnet");
  EXPECT_EQ(std::tie(options.hidden, options.layers, options.dropout, options.norm, options.residual),
            std::tuple(7, 3, 0.1, "batch", true));
  EXPECT_EQ(std::tie(options.heads, options.k, options.alpha, options.dprate),
            std::tuple(2, 4, 0.30000000000000004, 1e-5));
  const ModelShape& shape = loaded.config.shape;
  EXPECT_EQ(std::tie(shape.nodes, shape.entries, shape.inputs, shape.outputs), std::tuple(8, 26, 5, 3));
  expect_same_values(*loaded.model, *make(config));
}

TEST_F(ModelFile, AMissingOptionHasItsDefault) {
  Json document = Json::parse(read_file(config_));
  document.at("options").erase("dropout");
  folder_.write("gcn.json", document.dump());
  EXPECT_EQ(load_model(path_, at::kFloat).config.options.dropout, ModelOptions().dropout);
}

TEST_F(ModelFile, TheSameModelGivesTheSameBytes) {
  const fs::path again = folder_.path() / "again.safetensors";
  save_model(again, small_config(), *make(small_config()));
  EXPECT_EQ(read_file(again), read_file(path_));
  EXPECT_EQ(read_file(folder_.path() / "again.json"), read_file(config_));
  save_model(path_, small_config(), *make(small_config(), at::kFloat, 4));  // over what is there
  EXPECT_NE(read_file(again), read_file(path_));
  expect_same_values(*load_model(path_, at::kFloat).model, *make(small_config(), at::kFloat, 4));
}

TEST_F(ModelFile, NumbersAreConvertedToTheModelsType) {
  const auto wide = make(small_config(), at::kDouble);
  save_model(path_, small_config(), *wide);
  EXPECT_EQ(read_tensors(path_).front().value.scalar_type(), at::kDouble);
  const LoadedModel narrow = load_model(path_, at::kFloat);
  EXPECT_EQ(narrow.model->parameters().all().front().value.scalar_type(), at::kFloat);
  expect_same_values(*narrow.model, *wide);
  expect_same_values(*load_model(path_, at::kDouble).model, *wide);
  save_model(path_, small_config(), *narrow.model);
  expect_same_values(*load_model(path_, at::kDouble).model, *narrow.model);
}

TEST_F(ModelFile, WhatIsLoadedIsStillLearned) {
  const LoadedModel loaded = load_model(path_, at::kFloat);
  for (const Parameter& parameter : loaded.model->parameters().all()) {
    EXPECT_TRUE(parameter.value.requires_grad() && parameter.value.is_leaf()) << parameter.name;
    EXPECT_TRUE(parameter.value.dim() < 2 || parameter.value.t().is_contiguous()) << parameter.name;
  }
}

// A state_dict of PyTorch Geometric's GCN: row-major weights, in any order, float64.
TEST_F(ModelFile, TakesTheParametersOfPyTorchGeometric) {
  const fs::path theirs = folder_.path() / "pyg.safetensors";
  const auto numbers = [](at::IntArrayRef shape) { return at::randn(shape, at::kDouble); };
  const std::vector<Buffer> state{{"conv2.lin.weight", numbers({3, 6})},
                                  {"conv1.bias", numbers({6})},
                                  {"conv2.bias", numbers({3})},
                                  {"conv1.lin.weight", numbers({6, 5})}};
  write_tensors(theirs, state, {{"format", "pt"}});
  const auto model = make(small_config());
  load_parameters(theirs, *model);
  for (const auto& [name, value] : state) {
    EXPECT_TRUE(at::equal(model->parameters().find(name).detach(), value.to(at::kFloat))) << name;
  }
}

TEST_F(ModelFile, DescriptionErrors) {
  EXPECT_EQ(error_with([](Json& document) { document = Json::array(); }), "has no \"schema\"");
  EXPECT_EQ(error_with([](Json& document) { document.erase("schema"); }), "has no \"schema\"");
  EXPECT_EQ(error_with([](Json& document) { document["schema"] = "1"; }), "\"schema\" is not a whole number");
  EXPECT_EQ(error_with([](Json& document) { document["schema"] = 1.5; }), "\"schema\" is not a whole number");
  EXPECT_EQ(error_with([](Json& document) { document["schema"] = 2; }),
            "schema 2 is not the 1 that this qw reads; use a newer qw");
  EXPECT_EQ(error_with([](Json& document) { document["schema"] = ~uint64_t{0}; }),
            "\"schema\" is 18446744073709551615, more than 64 bits can hold");
  EXPECT_EQ(error_with([](Json& document) { document["schema"] = 0; }),
            "schema 0 is not the 1 that this qw reads");
  EXPECT_EQ(error_with([](Json& document) { document.erase("model"); }), "has no \"model\"");
  EXPECT_EQ(error_with([](Json& document) { document["model"] = 7; }), "\"model\" is not a name");
  EXPECT_EQ(
      error_with([](Json& document) { document["model"] = "gnc"; }),
      "model 'gnc' is unknown; did you mean 'gcn'? known: appnp, bernnet, chebnetii, gat, gcn, gcn-lpa, "
      "gin, graphsage, mlp, none");
  EXPECT_EQ(error_with([](Json& document) { document.erase("options"); }), "has no \"options\"");
  EXPECT_EQ(error_with([](Json& document) { document["options"] = 1; }), "model: expected a JSON object");
  EXPECT_EQ(
      error_with([](Json& document) { document["options"]["hiden"] = 6; }),
      "model: 'hiden' is unknown; did you mean 'hidden'? known: hidden, layers, dropout, norm, residual, "
      "heads, k, alpha, dprate");
  EXPECT_EQ(error_with([](Json& document) { document["options"]["hidden"] = 0; }),
            "model: hidden '0' is not a whole number from 1 to 1000000");
  EXPECT_EQ(error_with([](Json& document) { document["options"]["norm"] = "bach"; }),
            "model: norm 'bach' is unknown; did you mean 'batch'? known: none, batch, layer");
}

TEST_F(ModelFile, ShapeErrors) {
  EXPECT_EQ(error_with([](Json& document) { document.erase("shape"); }), "has no \"shape\"");
  EXPECT_EQ(error_with([](Json& document) { document["shape"] = 3; }), "has no \"nodes\"");
  EXPECT_EQ(error_with([](Json& document) { document["shape"].erase("outputs"); }), "has no \"outputs\"");
  EXPECT_EQ(error_with([](Json& document) { document["shape"]["inputs"] = "5"; }),
            "\"inputs\" is not a whole number");
  EXPECT_EQ(error_with([](Json& document) { document["shape"]["inputs"] = -1; }), "\"inputs\" is negative");
  EXPECT_EQ(error_with([](Json& document) { document["shape"]["inputs"] = int64_t{1} << 41; }),
            "\"inputs\" is 2199023255552; at most 1099511627776 are possible");
  EXPECT_EQ(error_with([](Json& document) { document["shape"]["nodes"] = ~uint64_t{0}; }),
            "\"nodes\" is 18446744073709551615, more than 64 bits can hold");
  const std::string text = error_with([](Json& document) {  // no address space holds this one
    document["shape"]["inputs"] = int64_t{1} << 40;
    document["options"]["hidden"] = 1000000;
  });
  EXPECT_TRUE(text.starts_with("the model that it describes has more weights than the ")) << text;
}

TEST_F(ModelFile, WhatIsNoJsonIsRefused) {
  for (const char* contents : {"", "{", "{\"schema\":1,}", "\xff", "{\"schema\":1}x"}) {
    folder_.write("gcn.json", contents);
    EXPECT_TRUE(load_error().starts_with(config_.string() + ": is not JSON: something is wrong at byte"));
  }
}

TEST_F(ModelFile, TensorErrors) {
  EXPECT_EQ(error_with_tensors([](auto& tensors) { tensors.pop_back(); }), "has no tensor 'conv2.bias'");
  EXPECT_EQ(error_with_tensors([](auto& tensors) {
              tensors.push_back({"conv3.bias", at::ones({2})});
            }),
            "tensor 'conv3.bias' is unknown; did you mean 'conv1.bias'? known: conv1.lin.weight, conv1.bias, "
            "conv2.lin.weight, conv2.bias");
  EXPECT_EQ(error_with_tensors([](auto& tensors) { tensors[0].value = tensors[0].value.t(); }),
            "tensor 'conv1.lin.weight' is [5, 6], the model has [6, 5]");
  EXPECT_EQ(error_with_tensors([](auto& tensors) {
              tensors[3].value = at::ones({3, 1});
            }),
            "tensor 'conv2.bias' is [3, 1], the model has [3]");
  // Also the other way round: the description asks for what the tensors are not.
  Json document = Json::parse(read_file(config_));
  document["options"]["hidden"] = 7;
  folder_.write("gcn.json", document.dump());
  EXPECT_EQ(load_error(), path_.string() + ": tensor 'conv1.lin.weight' is [6, 5], the model has [7, 5]");
}

TEST_F(ModelFile, MissingFilesAreNamed) {
  const fs::path nowhere = folder_.path() / "nowhere.safetensors";
  EXPECT_EQ(error_of([&] { load_model(nowhere, at::kFloat); }),
            (folder_.path() / "nowhere.json").string() + ": cannot read: No such file or directory");
  EXPECT_EQ(error_of([&] { load_parameters(nowhere, *make(small_config())); }),
            nowhere.string() + ": cannot read: No such file or directory");
  fs::remove(path_);
  EXPECT_EQ(load_error(), path_.string() + ": cannot read: No such file or directory");
  folder_.write("gcn.safetensors", "short");
  EXPECT_EQ(
      load_error(),
      path_.string() + ": is no safetensors file: it has 5 bytes, not even the 8 of the header's length");
}

TEST_F(ModelFile, TensorsAndDescriptionNeedTwoNames) {
  const std::string expected =
      config_.string() +
      ": is where the description goes; name the file of the tensors otherwise, as in "
      "gcn.safetensors";
  const std::string before = read_file(config_);
  EXPECT_EQ(error_of([&] { save_model(config_, small_config(), *make(small_config())); }), expected);
  EXPECT_EQ(error_of([&] { load_model(config_, at::kFloat); }), expected);
  EXPECT_EQ(read_file(config_), before);
}

TEST_F(ModelFile, AFailedSaveLeavesNothingHalf) {
  const auto model = make(small_config(), at::kFloat, 4);
  const fs::path below_a_file = path_ / "gcn.safetensors";
  EXPECT_EQ(error_of([&] { save_model(below_a_file, small_config(), *model); }),
            path_.string() + ": cannot make this folder: Not a directory");
  const fs::path taken = folder_.path() / "taken.safetensors";
  fs::create_directory(taken);
  EXPECT_EQ(error_of([&] { save_model(taken, small_config(), *model); }),
            taken.string() + ": cannot write: it exists and is no regular file");
  EXPECT_EQ(names_in(folder_.path()),
            (std::set<std::string>{"gcn.json", "gcn.safetensors", "taken.json", "taken.safetensors"}));
  EXPECT_TRUE(fs::is_empty(taken));
  expect_same_values(*load_model(path_, at::kFloat).model, *make(small_config()));
}

TEST(TensorFile, EveryTypeAndOrderComesBack) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "all.safetensors";
  const std::vector<Buffer> tensors{
      {"transposed", at::randn({3, 4}).t()},    {"gaps", at::randn({3, 4}, at::kDouble).slice(1, 0, 4, 2)},
      {"whole", at::arange(5, at::kInt)},       {"long", at::full({}, int64_t{1} << 40, at::kLong)},
      {"bytes", at::arange(3, at::kByte)},      {"flags", at::ones({2, 2}, at::kBool)},
      {"leaf", at::ones({2}).requires_grad_()}, {"none", at::empty({0, 7})}};
  write_tensors(path, tensors);
  const std::vector<Buffer> again = read_tensors(path);
  ASSERT_EQ(again.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(again[i].name, tensors[i].name);
    EXPECT_EQ(again[i].value.scalar_type(), tensors[i].value.scalar_type()) << tensors[i].name;
    EXPECT_TRUE(at::equal(again[i].value, tensors[i].value.detach())) << tensors[i].name;
  }
  EXPECT_THROW(write_tensors(path, {{"half", at::ones({2}, at::kHalf)}}), InternalError);
}

}  // namespace
}  // namespace qw
