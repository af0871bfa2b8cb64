// Where downloaded data sets are kept.
#pragma once

#include <filesystem>

#include "qw/data/card.h"

namespace qw {

// $QW_CACHE_DIR, else $XDG_CACHE_HOME/qw, else $HOME/.cache/qw; an empty variable counts as unset, and so
// does an XDG_CACHE_HOME that is not absolute. The folder need not exist. Throws qw::Error when none is set.
std::filesystem::path cache_folder();

std::filesystem::path dataset_folder(const DatasetCard& card);  // cache_folder()/datasets/<name>

// Whether every file of the card is there. A file gets into the cache only by an atomic rename after it was
// verified; verify_cached() finds what has been damaged since.
bool is_cached(const DatasetCard& card);

}  // namespace qw
