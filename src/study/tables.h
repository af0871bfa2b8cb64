// The tables of a store (qw/study/store.h), whatever the database.
#pragma once

#include "study/database.h"

namespace qw {

// Makes those that are not there. Throws qw::Error on a database of something else, which is left as it was,
// and on one that was made with other defaults.
void open_tables(Database& database);

}  // namespace qw
