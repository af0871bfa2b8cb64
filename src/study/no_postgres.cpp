// In place of postgres.cpp where there is no libpq.
#include <fmt/format.h>

#include "qw/core/error.h"
#include "study/postgres.h"
#include "study/postgres_url.h"

namespace qw {

std::unique_ptr<Database> open_postgres(const std::string& url) {
  check_postgres_url(url);
  fail(fmt::format("{}: this qw was built without PostgreSQL (libpq); keep the results in a file",
                   shown_url(url)));
}

}  // namespace qw
