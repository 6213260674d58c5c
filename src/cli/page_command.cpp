#include "cli/page_command.h"

#include <QApplication>
#include <QSaveFile>
#include <QSize>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "cli/off_screen.h"
#include "cli/output_file.h"
#include "cli/report_command.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/units.h"
#include "report/html_report.h"
#include "run/recording_output.h"
#include "window/window_picture.h"

namespace highwater::cli {
namespace {

/// The window of a picture: as wide as the text of a page, with twice the pixels, so that it is
/// sharp on a Retina screen and on paper.
constexpr QSize kPictureSize{1120, 860};
constexpr char kPixelsPerPoint[] = "2";

bool isPage(const std::filesystem::path& file) {
  return headOf(file).find(report::kPageMark) != std::string::npos;
}

/// Refuses a page that may not be replaced or written, before its pictures are drawn.
Result<void> checkPage(const ReportPageOptions& options) {
  if (auto replaced =
          run::checkReplaced(options.page, options.force, "page of highwater report", &isPage);
      !replaced) {
    return replaced.error();
  }
  QSaveFile file(QString::fromStdString(options.page));
  if (!file.open(QIODevice::WriteOnly)) return notWritten(file, "--html");
  return {};
}

Result<void> writePage(const std::string& name, const std::string& page) {
  QSaveFile file(QString::fromStdString(name));
  if (!file.open(QIODevice::WriteOnly)) return notWritten(file, "--html");
  writeTo(file)(page);
  return commit(file, "--html");
}

report::PagePicture pagePicture(const window::ViewPicture& view) {
  report::PagePicture picture;
  picture.title = view.tuning ? "Tuning" : "Timeline";
  picture.caption = view.tuning
                        ? "Memory and settings of the run, and the predicted peak of driver memory "
                          "by batch size and length"
                        : "Memory, steps, phases and waits of the whole run";
  picture.width = view.size.width();
  picture.height = view.size.height();
  picture.light = view.light.toStdString();
  picture.dark = view.dark.toStdString();
  return picture;
}

}  // namespace

int runReportPage(const ReportPageOptions& options, int argc, char** argv) {
  useNoScreen();
  qputenv("QT_SCALE_FACTOR", kPixelsPerPoint);
  const QApplication application(argc, argv);
  if (auto writable = checkPage(options); !writable) return failWith(writable.error());
  const std::filesystem::path recording = options.recording;
  analysis::LiveStore store;
  RecordingCondition condition;
  const std::string problem = loadForReport(recording, store, condition);
  if (!store.hello()) return failWith(failure(problem));
  const auto views = window::drawViews(recording, kPictureSize);
  if (!views) return failWith(views.error());
  std::vector<report::PagePicture> pictures;
  for (const window::ViewPicture& each : *views) pictures.push_back(pagePicture(each));
  const std::string page =
      report::reportHtml(recording.filename().string(), store, analysis::summarize(store),
                         condition, pictures, {.width = kFixedWidth, .full = options.full});
  if (auto written = writePage(options.page, page); !written) return failWith(written.error());
  print(options.page + ": " + formatBytes(page.size()) + '\n');
  if (condition.beingWritten) printError("the recording is still being written: the end is open");
  if (problem.empty()) return kExitDone;
  printError(problem);
  return kExitFailed;
}

}  // namespace highwater::cli
