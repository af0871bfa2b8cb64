#include "cli/learn/refused_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "core/text.h"
#include "nn/model_options.h"
#include "qw/core/error.h"
#include "qw/learn/learner.h"
#include "qw/nn/model.h"

namespace qw::cli {
namespace {

std::string option_of(const std::string& field) {
  std::string option = "--" + field;
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

void refuse_beside(const CLI::App& command, const std::string& mode, const std::string& why,
                   const std::function<bool(const std::string& name)>& goes_with) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--help" || name == mode || goes_with(name)) continue;
    fail_usage(fmt::format("qw train: {} does not go with {}: {}", name, mode, why));
  }
}

// An option of other networks, or of other solvers, than the chosen one.
template <class Info>
void refuse_of_others(const CLI::App& command, const std::string& kind, const Info& chosen,
                      const std::vector<Info>& all) {
  const auto heeds = [](const Info& info, const std::string& field) {
    return std::find(info.options.begin(), info.options.end(), field) != info.options.end();
  };
  for (const Info& other : all) {
    for (const std::string& field : other.options) {
      if (!is_written(command, field) || heeds(chosen, field)) continue;
      std::vector<std::string> users;
      for (const Info& info : all) {
        if (heeds(info, field)) users.push_back(info.name);
      }
      fail_usage(fmt::format("qw train: {} has no use with --{} {}; it is for {}", option_of(field), kind,
                             chosen.name, join(users, ", ")));
    }
  }
}

}  // namespace

bool is_written(const CLI::App& command, const std::string& field) {
  return command.count(option_of(field)) > 0;
}

void refuse_beside_resume(const CLI::App& command) {
  refuse_beside(command, "--resume", "a training goes on as it began", [](const std::string& name) {
    return name == "--report" || name == "--log-dir" || name == "--processes" || name == "--wait";
  });
}

void refuse_beside_refit(const CLI::App& command) {
  TrainRequest any;
  std::vector<std::string> fixed{"--preset",         "--presets",    "--model",        "--split", "--seed",
                                 "--scale-features", "--split-file", "--split-column", "--resume"};
  const FieldTable of_model = model_fields(any.model_options);
  for (const Field& field : of_model.fields()) fixed.push_back(option_of(field.name));
  refuse_beside(
      command, "--refit-flow", "its network, its parts and its scales stay as they were learned",
      [&](const std::string& name) { return std::find(fixed.begin(), fixed.end(), name) == fixed.end(); });
}

void refuse_ignored(const CLI::App& command, const LoadOptions& load, const TrainRequest& request) {
  refuse_of_others(command, "model", find_model(request.model), models());
  refuse_of_others(command, "solver", find_solver(request.learn.solver), solvers());
  refuse_two_splits("qw train", load, request.split);
  const bool sees_no_edges =
      request.model == "mlp" && (request.learn.solver == "ce" || request.learn.solver == "mse");
  if (!load.edge_weight.empty() && sees_no_edges)
    fail_usage("qw train: --edge-weight has no use with --model mlp, which does not see the edges");
  if (!load.edge_cost.empty() && !find_solver(request.learn.solver).has_flow) {
    fail_usage(
        fmt::format("qw train: --edge-cost has no use with --solver {}, which moves nothing along edges",
                    request.learn.solver));
  }
}

}  // namespace qw::cli
