#pragma once

#include <span>
#include <string>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "core/recording_condition.h"
#include "report/report_text.h"

namespace highwater::report {

/// What the first 512 bytes of each page contain, and those of no other file.
inline constexpr char kPageMark[] = "<meta name=\"generator\" content=\"Highwater ";

/// A picture of a page, in the light and in the dark theme.
struct PagePicture {
  std::string title;       ///< the heading above it
  std::string caption;     ///< what it shows
  int width = 0;           ///< in CSS pixels
  int height = 0;          ///< in CSS pixels
  std::string light = {};  ///< a PNG file
  std::string dark = {};   ///< a PNG file
};

/// The report of a recording as a web page: device, verdict and findings, the run's numbers, the
/// pictures, and the text of reportText() as a part that is opened by a click. One file without
/// scripts that loads nothing. It is well-formed XML too. `title` is the recording's name.
[[nodiscard]] std::string reportHtml(const std::string& title, const analysis::LiveStore& store,
                                     const analysis::RunSummary& summary,
                                     const RecordingCondition& condition,
                                     std::span<const PagePicture> pictures,
                                     const TextOptions& options);

}  // namespace highwater::report
