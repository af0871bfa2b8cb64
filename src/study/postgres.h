// PostgreSQL as a store, by libpq: hosts, users, passwords and TLS are libpq's.
#pragma once

#include <memory>
#include <string>

#include "study/database.h"

namespace qw {

// Connects. Throws qw::Error where this qw was built without libpq.
std::unique_ptr<Database> open_postgres(const std::string& url);

}  // namespace qw
