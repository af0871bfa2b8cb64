// Groups that Python makes: PyPI's LibTorch has no headers of Gloo, but its Python can make groups.
#pragma once

#include <functional>
#include <string>

#include "comm/place.h"

namespace qw {

// Makes the group of all processes that were started together, over this interface of the network, when all
// are known to be there; gives the name by which c10d finds it. Where the place has a GPU, the group takes
// rows of GPUs too. Called on any thread. Throws where it cannot be made.
using GroupMaker = std::function<std::string(const Place& place, const std::string& interface)>;

// From now on join() asks it.
void set_group_maker(GroupMaker maker);

}  // namespace qw
