#pragma once

#include <chrono>

#include "core/option_table.h"
#include "core/result.h"
#include "session/session.h"

namespace highwater::session {

/// How long a worker may send no message before its run ends as hung.
struct SupervisionLimits {
  std::chrono::milliseconds silence{10'000};  ///< once training has started; also limits a stall
  std::chrono::milliseconds start{60'000};    ///< until then
};

/// Reads the limits from $HIGHWATER_HANG_TIMEOUT_MS and $HIGHWATER_START_TIMEOUT_MS; a variable
/// that is not set leaves the default. Fails with kUsage if one is not a whole number of
/// milliseconds from 500 to 3600000.
[[nodiscard]] Result<SupervisionLimits> readSupervisionLimits();

/// Adds to a program's arguments the options that have a value, with their values.
template <typename Rows, typename Options>
void addArguments(QStringList& arguments, const Rows& rows, Options& options) {
  for (const auto& row : rows) {
    const std::string value = writtenValue(row.in(options));
    if (value.empty()) continue;
    arguments << QString::fromUtf8(row.text.name);
    if (*row.text.unit != '\0') arguments << QString::fromStdString(value);
  }
}

}  // namespace highwater::session
