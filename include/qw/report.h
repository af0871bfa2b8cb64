// All of qw/report: charts and paired comparisons.
#pragma once

#include "qw/report/chart.h"
#include "qw/report/paired.h"
#include "qw/report/report.h"
