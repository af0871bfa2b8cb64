// What `qw train` tells a person when it is done.
#pragma once

#include <string>
#include <vector>

#include "qw/learn/run.h"

namespace qw::cli {

std::string training_text(const Dataset& dataset, const TrainRequest& request,
                          const std::vector<RunResult>& results, const std::string& out);

}  // namespace qw::cli
