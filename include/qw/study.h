// All of qw/study: searches over many trainings (needs qw::learn).
#pragma once

#include "qw/study/fit_best.h"
#include "qw/study/presets.h"
#include "qw/study/store.h"
#include "qw/study/sweep.h"
#include "qw/study/work.h"
