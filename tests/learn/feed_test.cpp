// Trainings from a feed: each is told of once, as done or as failed, and only trainings fail.
#include <gmock/gmock.h>

#include <map>

#include "learn/problem.h"
#include "qw/core/error.h"
#include "qw/learn/run.h"

namespace qw {
namespace {

constexpr int64_t kRuns = 6;

TrainRequest request_for(const std::string& solver) {
  TrainRequest request;
  request.model_options.hidden = 8;
  request.learn.solver = solver;
  request.learn.epochs = 4;
  request.split = "random:train=0.5,val=0.25";
  request.device = test::device().str();
  return request;
}

TrainRequest diverging(const std::string& solver) {
  TrainRequest request = request_for(solver);
  request.model_options.layers = 5;
  request.learn.lr = 1e12;
  return request;
}

// Runs 0, 1, ... of the requests in turn, and how often each was told of.
struct Counted {
  explicit Counted(std::vector<TrainRequest> requests) {
    feed.take = [this, requests](int64_t most) {
      std::vector<Training> taken;
      for (; next < kRuns && most > 0; --most, ++next)
        taken.push_back({requests[next % requests.size()], next});
      return taken;
    };
    feed.done = [this](const Training& training, const RunResult&) { ++done[training.run]; };
    feed.failed = [this](const Training& training, const std::string& error) {
      EXPECT_THAT(error, testing::HasSubstr("not finite"));
      ++failed[training.run];
    };
  }

  void train() { train_all(test::small_problem("ce").data, test::device().str(), "auto", feed); }

  TrainingFeed feed;
  int64_t next = 0;
  std::map<int64_t, int> done, failed;
};

TEST(Feed, WhatFailsIsToldOnceAndTheOthersAreDone) {
  for (const char* solver : {"ce", "exact"}) {  // on a CUDA device the second one's epochs are not replayed
    for (const int threads : {1, 3}) {
      const test::ScopedThreads scoped(threads);
      Counted counted({request_for(solver), diverging(solver)});
      counted.train();
      const std::map<int64_t, int> even{{0, 1}, {2, 1}, {4, 1}}, odd{{1, 1}, {3, 1}, {5, 1}};
      EXPECT_EQ(counted.done, even) << solver << ", " << threads;
      EXPECT_EQ(counted.failed, odd) << solver << ", " << threads;
    }
  }
}

TEST(Feed, AResultThatCannotBeKeptIsNoFailedTraining) {
  for (const int threads : {1, 3}) {
    const test::ScopedThreads scoped(threads);
    Counted counted({request_for("ce")});
    counted.feed.done = [&](const Training& training, const RunResult&) {
      if (training.run == 1) fail("disk full");
    };
    EXPECT_EQ(test::error_of([&] { counted.train(); }), "disk full");
    EXPECT_TRUE(counted.failed.empty()) << threads;
  }
}

TEST(Feed, ABrokenPromiseIsNoFailedTraining) {
  for (const int threads : {1, 3}) {
    const test::ScopedThreads scoped(threads);
    Counted counted({request_for("ce")});
    counted.feed.epoch = [](const Training&, const EpochRecord&, const Trainer&) {
      QW_ASSERT(false);
      return true;
    };
    EXPECT_THROW(counted.train(), InternalError);
    EXPECT_TRUE(counted.failed.empty()) << threads;
  }
}

}  // namespace
}  // namespace qw
