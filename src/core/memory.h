// How much memory there is, so that what cannot fit is refused by arithmetic.
#pragma once

#include <cstdint>
#include <string>

namespace qw {

// Bytes that this process may still take: the least of what the system has without swapping, what the control
// group leaves (memory.max) and what `ulimit -v` leaves. 0: nobody says.
int64_t available_memory();
// Bytes that this process holds in memory now; 0 where the system does not say.
int64_t resident_memory();
// Bytes of addresses that `ulimit -v` leaves; the largest number without a limit.
int64_t available_addresses();

// Throws qw::Error "WHAT needs 29.8 GiB of memory, but 22.4 GiB are free; ADVICE" when `bytes` are more than
// there are; a few megabytes are taken to be there.
void require_memory(double bytes, const std::string& what, const std::string& advice);

}  // namespace qw
