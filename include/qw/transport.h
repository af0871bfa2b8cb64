// All of qw/transport: exact optimal transport on graphs.
#pragma once

#include "qw/transport/paths.h"
#include "qw/transport/wasserstein.h"
