// One on-disk format = one file in this folder that defines one of these, named in writers.cpp.
#pragma once

#include "qw/data/save.h"

namespace qw {

extern const Writer kCsvWriter;
extern const Writer kCsrNpzWriter;
extern const Writer kMatrixMarketWriter;

}  // namespace qw
