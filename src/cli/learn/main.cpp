// The program `qw-learn`: the commands of qw that need LibTorch. People call it as `qw`.
#include <c10/util/Exception.h>
#include <malloc.h>

#include "cli/learn/commands.h"
#include "cli/program.h"
#include "qw/core/error.h"

namespace {

// LibTorch gives every tensor back to the C library, which by default unmaps large blocks at once: each epoch
// would fault all its memory in again. Keep it instead; but what is larger is a tensor, which is kept
// elsewhere (ops/kept_memory.h), or an array of a large graph on its way to one.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, -1);
}

// LibTorch's errors carry a backtrace, which is for us and not for a person.
std::string without_backtrace(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch == nullptr ? error.what() : of_torch->what_without_backtrace();
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  return qw::cli::run_program(
      argc, argv,
      [](CLI::App& app, const qw::cli::GlobalOptions& global) {
        qw::cli::add_fit_command(app, global);
        qw::cli::add_train_command(app, global);
        qw::cli::add_predict_command(app, global);
        qw::cli::add_eval_command(app, global);
        qw::cli::add_explain_command(app, global);
        qw::cli::add_report_command(app, global);
        qw::cli::add_bench_command(app, global);
        qw::cli::add_presets_command(app, global);
#if QW_SWEEP
        qw::cli::add_sweep_command(app, global);
        qw::cli::add_reproduce_command(app, global);
#else
        for (const char* name : {"sweep", "reproduce"}) {
          app.add_subcommand(name, "not in this build")->fallthrough(false)->allow_extras()->callback([name] {
            qw::fail(std::string("qw ") + name + ": this qw was built without it (-DQW_SWEEP=OFF)");
          });
        }
#endif
      },
      without_backtrace);
}
