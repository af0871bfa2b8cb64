#include "qw/metrics/metrics.h"

namespace qw {

const MetricInfo* metric_named(std::string_view name) {
  for (const auto* table : {&class_metrics(), &label_metrics(), &value_metrics()}) {
    for (const MetricInfo& info : *table) {
      if (info.name == name) return &info;
    }
  }
  return nullptr;
}

}  // namespace qw
