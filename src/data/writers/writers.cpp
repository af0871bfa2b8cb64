#include "data/writers/writers.h"

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {

const std::vector<Writer>& writers() {
  static const std::vector<Writer> all = {kCsvWriter, kCsrNpzWriter, kMatrixMarketWriter};
  return all;
}

void save_dataset(const Dataset& dataset, const std::string& format, const std::filesystem::path& path) {
  std::vector<std::string> known;
  for (const Writer& writer : writers()) {
    if (writer.name == format) return writer.write(dataset, path);
    known.push_back(writer.name);
  }
  fail_usage("format " + unknown_name(format, known));
}

}  // namespace qw
