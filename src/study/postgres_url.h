// URLs of stores, which may hold a password: nothing that is shown of them does.
#pragma once

#include <string>
#include <string_view>

namespace qw {

bool is_postgres_url(std::string_view where);  // postgresql://... or postgres://...

// Throws qw::UsageError where `where` is a URL, and so no file.
void check_is_no_url(const std::string& where);

// Throws qw::UsageError where libpq would take a part of the password for something else, and show it.
void check_postgres_url(std::string_view url);

// Of a URL that was checked: postgresql://user@host:port/database, without password and parameters.
std::string shown_url(std::string_view url);

}  // namespace qw
