// Doing the trainings that a study lacks, by one process or by several that share a file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/study/store.h"

namespace QW_PUBLIC qw {

// Trials that a study still needs.
struct Lacking {
  std::vector<Trial> trials;  // to be done next, in the order of their importance
  int64_t later = 0;          // how many more will follow, at most
};

// How far do_work has come.
struct WorkProgress {
  int64_t done = 0;    // by this process
  int64_t left = 0;    // at most
  double seconds = 0;  // since it began
  std::string now;     // what is trained: "cora, gcn, bregman"
};

// A study as do_work sees it.
struct StudyWork {
  // What is lacking when so much is known; asked again as results come in. Nothing: the work is done.
  std::function<Lacking(const TrialScores&)> lacking;
  std::function<Dataset(const nlohmann::ordered_json& data)> load;  // the "data" of a request
  std::string device = "cpu";                                       // cpu, cuda or cuda:N
  bool one_at_a_time = false;                                       // each training has the device to itself
  std::function<void(const WorkProgress&)> progress;                // may be empty
};

// Returns when nothing is lacking any more; waits for trials that other processes are at work on.
void do_work(ResultStore& store, const StudyWork& work);

}  // namespace qw
