#include "study/postgres_url.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

// The parts of a URL as libpq cuts it.
struct Parts {
  std::string_view scheme;      // "postgresql://"
  std::string_view user;        // with the password
  bool has_user = false;        // there is an @ behind it
  std::string_view hosts;       // "host:port,host:port"
  std::string_view database;    // with its slash
  std::string_view parameters;  // with their question mark
};

Parts parts_of(std::string_view url) {
  Parts parts;
  const auto take = [&](size_t length) {
    const std::string_view taken = url.substr(0, length);
    url.remove_prefix(taken.size());
    return taken;
  };
  parts.scheme = take(url.find("://") + 3);
  const size_t at = url.find_first_of("@/");
  parts.has_user = at != std::string_view::npos && url[at] == '@';
  if (parts.has_user) {
    parts.user = take(at);
    url.remove_prefix(1);
  }
  parts.hosts = take(url.find_first_of("/?"));
  parts.database = take(url.find('?'));
  parts.parameters = url;
  return parts;
}

bool has_port_of_letters(std::string_view hosts) {
  for (const std::string& host : split(hosts, ',')) {
    const size_t colon = host.find(':', host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0);
    if (colon != std::string::npos && host.find_first_not_of("0123456789", colon + 1) != std::string::npos)
      return true;
  }
  return false;
}

}  // namespace

bool is_postgres_url(std::string_view where) {
  return where.starts_with("postgresql://") || where.starts_with("postgres://");
}

void check_is_no_url(const std::string& where) {
  if (where.find("password=") != std::string::npos || where.starts_with("postgres:") ||
      where.starts_with("postgresql:")) {
    fail_usage("a database is named as postgresql://host/database, and no file is called as if it were one");
  }
  const size_t end = where.find("://");
  if (end == std::string::npos) return;
  fail_usage(
      fmt::format("results are kept in a file or in PostgreSQL (postgresql://host/database), not in {}",
                  in_quotes(where.substr(0, end + 3))));
}

void check_postgres_url(std::string_view url) {
  const Parts parts = parts_of(url);
  for (const std::string_view part : {parts.hosts, parts.database, parts.parameters}) {
    if (part.find('@') == std::string_view::npos) continue;
    fail_usage(fmt::format(
        "{}...: has an @ too many; in names and passwords @ is written %40, / %2F and ? %3F", parts.scheme));
  }
  if (has_port_of_letters(parts.hosts)) {
    fail_usage(
        fmt::format("{}...: has a port that is no number; a password stands before an @, as in "
                    "postgresql://user:password@host/database",
                    parts.scheme));
  }
}

std::string shown_url(std::string_view url) {
  const Parts parts = parts_of(url);
  std::string shown(parts.scheme);
  if (parts.has_user) shown += std::string(parts.user.substr(0, parts.user.find(':'))) + "@";
  return printable(shown + std::string(parts.hosts) + std::string(parts.database));
}

}  // namespace qw
