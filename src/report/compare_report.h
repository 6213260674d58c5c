#pragma once

#include <QJsonObject>
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/fact_limit.h"
#include "analysis/run_comparison.h"

namespace highwater::report {

/// What `highwater compare` writes of two recordings.
struct CompareReport {
  std::string nameA, nameB;  ///< of the files
  analysis::RunComparison compared;
  std::vector<analysis::FactLimit> limits;

  /// A sentence for each limit that is broken or cannot be judged, with the numbers or the reason.
  [[nodiscard]] std::vector<std::string> failures() const;
};

/// The version of compareJson(): the value of its key "schema".
inline constexpr int kCompareSchema = 1;

/// Writes a comparison for a terminal, in lines of at most `width` code points.
[[nodiscard]] std::string compareText(const CompareReport& report, std::size_t width);
/// Writes the same as GitHub-flavoured Markdown, to paste into an issue. Texts of the recordings
/// are escaped.
[[nodiscard]] std::string compareMarkdown(const CompareReport& report);
/// Writes the same as JSON: docs/report-json.md describes its keys.
[[nodiscard]] QJsonObject compareJson(const CompareReport& report);

}  // namespace highwater::report
