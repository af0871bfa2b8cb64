// The subcommands that need LibTorch, one function each, each in its own file.
#pragma once

#include "cli/command.h"

namespace qw::cli {

void add_bench_command(CLI::App& app, const GlobalOptions& global);
void add_flow_bench(CLI::App& bench, const GlobalOptions& global);     // bench flow
void add_network_bench(CLI::App& bench, const GlobalOptions& global);  // bench network
void add_halo_bench(CLI::App& bench, const GlobalOptions& global);     // bench halo
void add_scale_bench(CLI::App& bench, const GlobalOptions& global);    // bench scale
void add_fit_command(CLI::App& app, const GlobalOptions& global);
void add_train_command(CLI::App& app, const GlobalOptions& global);
void add_predict_command(CLI::App& app, const GlobalOptions& global);
void add_eval_command(CLI::App& app, const GlobalOptions& global);
void add_explain_command(CLI::App& app, const GlobalOptions& global);
void add_report_command(CLI::App& app, const GlobalOptions& global);
void add_sweep_command(CLI::App& app, const GlobalOptions& global);
void add_reproduce_command(CLI::App& app, const GlobalOptions& global);
void add_presets_command(CLI::App& app, const GlobalOptions& global);

// How to load this data again, as config.json keeps it; and back, where a name alone will do.
nlohmann::ordered_json data_json(DataArguments data);
// The same with the paths as they were written: on other machines files may lie elsewhere.
nlohmann::ordered_json data_as_written(const DataArguments& data);
DataArguments data_from_json(const nlohmann::ordered_json& json, const std::string& file);

double peak_rss_mb();

// Threads and memory of LibTorch: called by every command before its first tensor.
void prepare_libtorch();

}  // namespace qw::cli
