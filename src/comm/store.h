// The store where processes meet: a few small texts by name, kept by process 0 or by who started them all.
// c10d's, so that torchrun's serves too.
#pragma once

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "comm/place.h"

namespace qw {

using Store = c10::intrusive_ptr<c10d::Store>;

// Listens at a port of this machine; 0: at any that is free. Throws qw::Error when it is in use.
c10::intrusive_ptr<c10d::TCPStore> serve_store(int port);

// A connection of its own; waits so many seconds for somebody to listen, and throws qw::Error when nobody
// does. Later calls throw some std::exception when there is no answer within a few seconds.
Store connect_to_store(const Place& place, double patience);

std::string read_text(c10d::Store& store, const std::string& key);  // of a key that is there
void write_text(c10d::Store& store, const std::string& key, const std::string& text);

// Processes cannot tell why they are lost; who knows writes it here, for all.
inline constexpr const char* kFailure = "failure";

}  // namespace qw
