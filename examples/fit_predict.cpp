// Fit and predict in memory: two rings of people, red and blue, of whom half say their colour.
#include <cstdio>

#include "qw/learn.h"

int main() {
  constexpr qw::NodeId kRing = 20, kPeople = 2 * kRing;
  qw::EdgeList edges{kPeople, {}, {}, {}, {}};
  std::vector<float> features;
  std::vector<int32_t> colours;
  for (qw::NodeId person = 0; person < kPeople; ++person) {
    const qw::NodeId ring = person / kRing;
    edges.tails.push_back(person);
    edges.heads.push_back(ring * kRing + (person + 1) % kRing);
    features.push_back(static_cast<float>(ring) + 0.1f * static_cast<float>(person % 3));
    colours.push_back(person % 2 == 0 ? ring : -1);  // -1: to be predicted
  }
  qw::Dataset data;
  data.graph = qw::Graph::build(edges);
  data.features = qw::features_from_dense(kPeople, 1, features);
  data.targets = qw::class_targets(colours, {"red", "blue"});

  qw::FitOptions options;
  options.learn.epochs = 100;
  const qw::Fitted fitted = qw::fit(data, options);
  const qw::NodePredictions predicted = fitted.predict(data);
  int right = 0;
  for (qw::NodeId person = 0; person < kPeople; ++person)
    right += predicted.classes[person] == person / kRing;
  std::printf("%d of %d right; person 1 is %s with probability %.2f\n", right, kPeople,
              predicted.names[predicted.classes[1]].c_str(), predicted.values[2 + predicted.classes[1]]);
  return right == kPeople ? 0 : 1;
}
