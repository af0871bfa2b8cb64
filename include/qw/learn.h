// All of qw/learn: training and prediction (needs qw::learn).
#pragma once

#include "qw/learn/baselines.h"
#include "qw/learn/certainty.h"
#include "qw/learn/ensemble.h"
#include "qw/learn/fit.h"
#include "qw/learn/flow.h"
#include "qw/learn/labels.h"
#include "qw/learn/learner.h"
#include "qw/learn/memory.h"
#include "qw/learn/memory_plan.h"
#include "qw/learn/metrics.h"
#include "qw/learn/optimizer.h"
#include "qw/learn/options.h"
#include "qw/learn/predictions.h"
#include "qw/learn/run.h"
#include "qw/learn/scaling.h"
#include "qw/learn/trainer.h"
