// All of qw/metrics: metrics, calibration, prediction sets on plain arrays.
#pragma once

#include "qw/metrics/calibration.h"
#include "qw/metrics/conformal.h"
#include "qw/metrics/metrics.h"
