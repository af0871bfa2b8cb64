#include "comm/named_group.h"

#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include "comm/address.h"
#include "comm/group_comm.h"
#include "qw/core/error.h"

namespace qw {
namespace {

// Never destroyed: what it calls is Python's, which is gone by then.
GroupMaker& maker() {
  static auto* const only = new GroupMaker;
  return *only;
}

}  // namespace

void set_group_maker(GroupMaker made) { maker() = std::move(made); }

std::unique_ptr<Comm> join(const Place& place, const Agreement& agreement, double patience) {
  if (place.size == 1 && (place.gpu < 0 || !maker())) return alone();
  if (!maker()) {
    fail(
        fmt::format("this qw works with one process, not {}: with PyPI's torch several are started as "
                    "`torchrun -m qw`",
                    place.size));
  }
  const auto connect = [](const Place& here, const std::string& address) {
    return c10d::resolve_process_group(maker()(here, interface_of(address)));
  };
  using Processes = GroupComm<c10d::ProcessGroup>;
  return std::make_unique<Processes>(place, agreement, patience, connect,
                                     place.gpu < 0 ? Processes::kHostRows : Processes::kAllRows);
}

}  // namespace qw
