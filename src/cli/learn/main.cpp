// The program `qw-learn`: the commands of qw that need LibTorch. People call it as `qw`.
#include "cli/learn/learn_program.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  qw::cli::keep_freed_memory();
  return qw::cli::run_program(argc, argv, qw::cli::add_learn_commands, qw::cli::without_backtrace);
}
