// All of qw/core: errors, random numbers, threads, the version.
#pragma once

#include "qw/core/epoch_rule.h"
#include "qw/core/error.h"
#include "qw/core/export.h"
#include "qw/core/parallel.h"
#include "qw/core/random.h"
#include "qw/core/version.h"
#include "qw/core/work.h"
