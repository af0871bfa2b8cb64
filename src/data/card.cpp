#include "qw/data/card.h"

#include <algorithm>

namespace qw {
namespace {

const std::string kPlanetoid = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/";
const std::string kHeterophilous =
    "https://raw.githubusercontent.com/yandex-research/heterophilous-graphs/"
    "a431395582e929d88271309716bea4fe24ce6318/data/";
const std::string kGnnBenchmark = "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz/";

const std::string kPlanetoidSource = "Yang et al., ICML 2016; github.com/kimiyoung/planetoid";
const std::string kGnnBenchmarkSource = "Shchur et al., 2018; github.com/shchur/gnn-benchmark";
const std::string kMusaeSource =
    "Rozemberczki et al., 2021, with the splits of Pei et al., ICLR 2020; "
    "github.com/yandex-research/heterophilous-graphs";
const std::string kGeomGcnSource = "Pei et al., ICLR 2020; github.com/yandex-research/heterophilous-graphs";

const std::string kDuplicateNodes =
    "it contains duplicate nodes that leak from train to test (Platonov et al., ICLR 2023): results on it "
    "compare only with others on the same data";

struct PlanetoidPart {
  std::string suffix;
  std::string sha256;
};

std::vector<FileCard> planetoid_files(const std::string& name, const std::vector<PlanetoidPart>& parts) {
  std::vector<FileCard> files;
  for (const PlanetoidPart& part : parts) {
    const std::string file = "ind." + name + "." + part.suffix;
    files.push_back({.name = file, .sha256 = part.sha256, .url = kPlanetoid + file});
  }
  return files;
}

std::vector<FileCard> heterophilous_file(const std::string& file, const std::string& sha256) {
  return {{.name = file, .sha256 = sha256, .url = kHeterophilous + file}};
}

std::vector<FileCard> gnn_benchmark_file(const std::string& file, const std::string& published,
                                         const std::string& sha256) {
  return {{.name = file, .sha256 = sha256, .url = kGnnBenchmark + published, .published_bytes_differ = true}};
}

LoadOptions directed_options() {
  LoadOptions options;
  options.directed = true;
  return options;
}

LoadOptions regression_csv(const std::string& edges, const std::string& nodes, const std::string& target) {
  LoadOptions options;
  options.edges = edges;
  options.nodes = nodes;
  options.id = "row-number";
  options.target = target;
  options.task = "regression";
  return options;
}

const std::vector<DatasetCard> kCards = {
    {.name = "cora",
     .title = "Cora: citations between papers on machine learning",
     .source = kPlanetoidSource,
     .reader = "planetoid",
     .files = planetoid_files(
         "cora", {{"x", "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab"},
                  {"tx", "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a"},
                  {"allx", "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543"},
                  {"y", "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1"},
                  {"ty", "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad"},
                  {"ally", "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71"},
                  {"graph", "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d"},
                  {"test.index", "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875"}}),
     .nodes = 2708,
     .edges = 5278,
     .features = 1433,
     .classes = 7,
     .of_paper = true},
    {.name = "citeseer",
     .title = "CiteSeer: citations between papers on computer science",
     .source = kPlanetoidSource,
     .reader = "planetoid",
     .files = planetoid_files(
         "citeseer", {{"x", "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6"},
                      {"tx", "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21"},
                      {"allx", "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668"},
                      {"y", "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924"},
                      {"ty", "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce"},
                      {"ally", "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95"},
                      {"graph", "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7"},
                      {"test.index", "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4"}}),
     .nodes = 3327,
     .edges = 4552,
     .features = 3703,
     .classes = 6,
     .of_paper = true},
    {.name = "pubmed",
     .title = "PubMed: citations between papers on diabetes",
     .source = kGnnBenchmarkSource,
     .reader = "csr-npz",
     .entry = "pubmed.npz",
     .files = gnn_benchmark_file("pubmed.npz", "pubmed.npz",
                                 "60738c6a5649db6ddcc88a1cbc108a4efea9c22964a50faeaca8aebdd5e16f26"),
     .nodes = 19717,
     .edges = 44324,
     .features = 500,
     .classes = 3,
     .of_paper = true},
    {.name = "computers",
     .title = "Amazon Computers: goods that are bought together",
     .source = kGnnBenchmarkSource,
     .reader = "csr-npz",
     .entry = "amazon_cs.npz",
     .files = gnn_benchmark_file("amazon_cs.npz", "amazon_electronics_computers.npz",
                                 "bffa1720ee30487a6f10f2ad57741d1a401d89a31a6a4c5c6de1ba42a1f2a0e0"),
     .nodes = 13752,
     .edges = 245861,
     .features = 767,
     .classes = 10,
     .of_paper = true},
    {.name = "photo",
     .title = "Amazon Photo: goods that are bought together",
     .source = kGnnBenchmarkSource,
     .reader = "csr-npz",
     .entry = "amazon_photo.npz",
     .files = gnn_benchmark_file("amazon_photo.npz", "amazon_electronics_photo.npz",
                                 "f0552bc8bcdb103c25b07cf4619bd9458af435c0728dc8366e86ffb912018c25"),
     .nodes = 7650,
     .edges = 119081,
     .features = 745,
     .classes = 8,
     .of_paper = true},
    {.name = "chameleon",
     .title = "Chameleon: links between Wikipedia pages on chameleons",
     .source = kMusaeSource,
     .reader = "heterophilous-npz",
     .entry = "chameleon.npz",
     .files = heterophilous_file("chameleon.npz",
                                 "4c640bd2877fc4f9f101531e2f977bc16445a54e09a5cb01178df608e552f3fd"),
     .nodes = 2277,
     .edges = 31371,
     .features = 2325,
     .classes = 5,
     .of_paper = true,
     .warning = kDuplicateNodes},
    {.name = "chameleon-directed",
     .title = "Chameleon with the direction of its links",
     .source = kMusaeSource,
     .reader = "heterophilous-npz",
     .entry = "chameleon_directed.npz",
     .folder = "chameleon",
     .files = heterophilous_file("chameleon_directed.npz",
                                 "34aea6b6888063544232100d53d4aa7e87e37953ec8dd3a7092afb25bb2f0328"),
     .directed = true,
     .nodes = 2277,
     .edges = 36051,
     .features = 2325,
     .classes = 5,
     .options = directed_options(),
     .warning = kDuplicateNodes},
    {.name = "squirrel",
     .title = "Squirrel: links between Wikipedia pages on squirrels",
     .source = kMusaeSource,
     .reader = "heterophilous-npz",
     .entry = "squirrel.npz",
     .files = heterophilous_file("squirrel.npz",
                                 "d436e3b42c0546b105241c0ab0766097074e68e55f67b133eeb9b0162e55cbd9"),
     .nodes = 5201,
     .edges = 198353,
     .features = 2089,
     .classes = 5,
     .of_paper = true,
     .warning = kDuplicateNodes},
    {.name = "actor",
     .title = "Actor: actors named together on Wikipedia pages",
     .source = kGeomGcnSource,
     .reader = "heterophilous-npz",
     .entry = "actor.npz",
     .files =
         heterophilous_file("actor.npz", "c350eef06b2c2a9bf8218be2b57cac6d4003d0922eb597a039e9123f75817816"),
     .nodes = 7600,
     .edges = 26659,
     .features = 932,
     .classes = 5,
     .of_paper = true},
    {.name = "texas",
     .title = "Texas: links between the web pages of a university department",
     .source = kGeomGcnSource,
     .reader = "heterophilous-npz",
     .entry = "texas.npz",
     .files =
         heterophilous_file("texas.npz", "b164b99e6c3d43e4ab07488ec59bd8c815f90cbc1bd4cf425ce587d2b534d844"),
     .nodes = 183,
     .edges = 279,
     .features = 1703,
     .classes = 5,
     .of_paper = true},
    {.name = "cornell",
     .title = "Cornell: links between the web pages of a university department",
     .source = kGeomGcnSource,
     .reader = "heterophilous-npz",
     .entry = "cornell.npz",
     .files = heterophilous_file("cornell.npz",
                                 "684c54ba3daa13b0ba1f04a3d6dd1b1175c1ae9bdeb982851fd4ff96d3aac298"),
     .nodes = 183,
     .edges = 277,
     .features = 1703,
     .classes = 5,
     .of_paper = true},
    {.name = "county-facebook",
     .title = "US counties joined by Facebook friendships, with census figures",
     .source = "Jia and Benson, KDD 2020; github.com/000Justin000/gnn-residual-correlation",
     .reader = "csv",
     .files = {{.name = "adj.csv",
                .sha256 = "4f4f8251f7fb9646619d46b2d17165173a7e4132d2377e026bb30babc89621cc"},
               {.name = "dat.csv",
                .sha256 = "87bcd72b7fac62540c8ed9a4842cf16f3566bbf4071983e22dd6329d06ce7d05"}},
     .nodes = 3105,
     .edges = 22555,
     .features = 10,
     .classes = 0,
     .options = regression_csv("adj.csv", "dat.csv", "MedianIncome")},
};

}  // namespace

const std::vector<DatasetCard>& dataset_cards() { return kCards; }

const DatasetCard* find_card(std::string_view name) {
  const auto found =
      std::find_if(kCards.begin(), kCards.end(), [&](const DatasetCard& card) { return card.name == name; });
  return found == kCards.end() ? nullptr : &*found;
}

}  // namespace qw
