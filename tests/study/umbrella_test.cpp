// All public headers together: no two of them declare the same name.
#include <gtest/gtest.h>

#include "qw/baseline.h"
#include "qw/core.h"
#include "qw/data.h"
#include "qw/graph.h"
#include "qw/learn.h"
#include "qw/metrics.h"
#include "qw/nn.h"
#include "qw/ops.h"
#include "qw/report.h"
#include "qw/study.h"
#include "qw/transport.h"

namespace qw {
namespace {

TEST(PublicHeaders, GoTogether) { EXPECT_FALSE(build_info().version.empty()); }

}  // namespace
}  // namespace qw
