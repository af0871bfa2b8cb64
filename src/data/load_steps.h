// Steps of load_dataset that reading in passes shares.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "qw/data/card.h"
#include "qw/data/load.h"

namespace qw {

// Options of a CSV are refused where `reader` (none for a generator) has no use for them: a silently ignored
// option is a wrong answer.
void refuse_unheeded(const LoadOptions& options, std::string_view reader, const std::string& what);

// A folder that bears the name of a card and holds its files is read as that card says; nullptr: none is.
const DatasetCard* card_of_folder(const std::filesystem::path& folder);

// A file that no other reader claims: its edges are read with the node table that the options name.
bool is_csv_file(const std::filesystem::path& path);

// What is done with what a reader or generator gave.
void finish_dataset(Dataset& dataset, const LoadOptions& options);

}  // namespace qw
