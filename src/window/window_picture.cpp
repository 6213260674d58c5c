#include "window/window_picture.h"

#include <QApplication>
#include <QBuffer>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QImageReader>
#include <QImageWriter>
#include <QPixmap>
#include <QThread>
#include <algorithm>

#include "core/units.h"
#include "models/saved_file.h"
#include "run/recording_output.h"
#include "views/panels/details_strip.h"
#include "window/main_window.h"

namespace highwater::window {
namespace {

/// Room beside the steps of a range, as a share of their time.
constexpr std::int64_t kRoomParts = 50;
/// The longest wait for the memory model of a picture.
constexpr qint64 kMostFitMs = 30'000;

std::string runTimeText(std::int64_t ns) {
  return formatRunTime(ns, 1);
}

/// The time of the steps `first` to `last`. kUsage where the recording has none of them.
Result<analysis::TimeRange> timeOfSteps(const analysis::LiveStore& store, std::uint32_t first,
                                        std::uint32_t last) {
  const auto& steps = store.steps().records;
  const auto begin = std::find_if(steps.begin(), steps.end(),
                                  [first](const auto& each) { return each.step() >= first; });
  const auto end =
      std::find_if(begin, steps.end(), [last](const auto& each) { return each.step() > last; });
  if (begin == end) {
    const std::string asked =
        "--steps " + std::to_string(first) + '-' + std::to_string(last) + ": the recording has ";
    if (steps.empty()) return usageError(asked + "no steps");
    return usageError(asked + "the steps " + std::to_string(steps.front().step()) + " to " +
                      std::to_string(steps.back().step()));
  }
  const events::StepRecord& latest = *(end - 1);
  return analysis::TimeRange{begin->begin_ns(), latest.begin_ns() + latest.duration_ns()};
}

/// By its content: the name says nothing about what is in a file.
bool isPicture(const std::filesystem::path& file) {
  QImageReader old(QString::fromStdString(file.string()));
  old.setDecideFormatFromContent(true);
  return old.canRead();
}

/// Opens a recording in a window that no screen shows.
Result<void> showOffScreen(MainWindow& window, const std::filesystem::path& recording, QSize size,
                           bool tuning) {
  window.setAttribute(Qt::WA_DontShowOnScreen);
  window.resize(size);
  if (auto opened = window.openRecording(recording); !opened) return opened.error();
  window.showTuning(tuning);
  window.show();
  QApplication::processEvents();
  return {};
}

/// Draws all of the window, with the best memory model.
void drawAll(MainWindow& window) {
  window.renderNow();
  // A picture shows what the best model says, which another thread may still be fitting.
  QElapsedTimer waited;
  waited.start();
  do {
    QApplication::processEvents();
  } while (window.tuning().isFitting() && waited.elapsed() < kMostFitMs &&
           (QThread::msleep(1), true));
  window.renderNow();
}

/// Encodes in memory: on a full disk, image libraries print to stderr and hide the reason.
Result<QByteArray> encoded(const QImage& picture, const QByteArray& format) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QImageWriter writer(&buffer, format);
  if (!writer.write(picture)) return failure(writer.errorString().toStdString());
  return bytes;
}

/// The panes and the status bar, which says where the device is simulated.
QImage panesOf(MainWindow& window) {
  const int top = window.centralWidget()->geometry().top();
  return window.grab({0, top, window.width(), window.height() - top}).toImage();
}

/// Hides what a picture of the panes has no use for.
void hideAllButPanes(MainWindow& window) {
  for (QDockWidget* dock : window.findChildren<QDockWidget*>()) dock->hide();
  // The panes get a new height, by which they decide what has room.
  QApplication::processEvents();
  for (auto* strip : window.findChildren<views::DetailsStrip*>()) strip->hide();
  QApplication::processEvents();
}

}  // namespace

Result<void> showRange(MainWindow& window, const PictureRange& asked) {
  views::TimeAxis& axis = window.timeAxis();
  const analysis::TimeRange all = axis.extent();
  if (asked.steps) {
    const auto range =
        timeOfSteps(window.currentRun().store(), asked.steps->first, asked.steps->second);
    if (!range) return range.error();
    const std::int64_t room = (range->endNs - range->beginNs) / kRoomParts;
    axis.setVisible({range->beginNs - room, range->endNs + room});
    return {};
  }
  if (!asked.fromNs && !asked.untilNs) {
    axis.fit();
    return {};
  }
  const std::int64_t from = asked.fromNs.value_or(all.beginNs);
  const std::int64_t until = asked.untilNs.value_or(all.endNs);
  if (from >= all.endNs) {
    return usageError("--from " + runTimeText(from) + " is after the end of the run, " +
                      runTimeText(all.endNs));
  }
  if (until <= from) {
    return usageError("--until " + runTimeText(until) + " is not after " + runTimeText(from) +
                      ", where the picture begins");
  }
  axis.setVisible({from, until});
  return {};
}

Result<RecordingCondition> exportWindowPicture(const std::filesystem::path& recording,
                                               const std::filesystem::path& image,
                                               const PictureOptions& options) {
  const QString path = QString::fromStdString(image.string());
  const QByteArray format = QByteArray::fromStdString(image.extension().string()).mid(1).toLower();
  if (!QImageWriter::supportedImageFormats().contains(format)) {
    return usageError(
        "the name must end in .png or another kind of picture, or as \"highwater export --help\" "
        "lists for traces and tables (a folder in /): " +
        image.string());
  }
  if (options.size.width() < 800 || options.size.height() < 600 || options.size.width() > 8192 ||
      options.size.height() > 8192) {
    return usageError("the picture must be 800 × 600 to 8192 × 8192 pixels large");
  }
  if (auto replaced = run::checkReplaced(image, options.overwrites, "picture", &isPicture);
      !replaced) {
    return replaced.error();
  }
  applyTheme(options.dark ? ThemeChoice::kDark : ThemeChoice::kLight);
  MainWindow window({}, nullptr, MainWindow::Settings::kOff);
  if (auto shown = showOffScreen(window, recording, options.size, options.tuning); !shown) {
    return shown.error();
  }
  if (auto shown = showRange(window, options.range); !shown) return shown.error();
  drawAll(window);
  QImage picture = window.grab().toImage();
  if (options.greyscale) {
    picture.convertTo(QImage::Format_Grayscale8);
  }
  const auto bytes = encoded(picture, format);
  if (!bytes) return failure(image.string() + " cannot be written: " + bytes.error().message);
  if (auto saved = models::saveFile(path, *bytes); !saved) return saved.error();
  return window.currentRun().condition();
}

Result<std::vector<ViewPicture>> drawViews(const std::filesystem::path& recording, QSize size) {
  applyTheme(ThemeChoice::kLight);
  MainWindow window({}, nullptr, MainWindow::Settings::kOff);
  if (auto shown = showOffScreen(window, recording, size, false); !shown) return shown.error();
  drawAll(window);
  const analysis::LiveStore& store = window.currentRun().store();
  const models::TuningState& tuning = window.tuning();
  std::vector<ViewPicture> views;
  if (!store.steps().records.empty() || !store.memory().timesNs.empty()) views.push_back({});
  if (tuning.model() || tuning.sweep()) {
    views.push_back({});
    views.back().tuning = true;
  }
  for (ViewPicture& view : views) {
    window.showTuning(view.tuning);
    hideAllButPanes(window);
    window.timeAxis().fit();
    for (const bool dark : {false, true}) {
      applyTheme(dark ? ThemeChoice::kDark : ThemeChoice::kLight);
      drawAll(window);
      const QImage picture = panesOf(window);
      auto png = encoded(picture, "png");
      if (!png) return png.error();
      view.size = picture.deviceIndependentSize().toSize();
      (dark ? view.dark : view.light) = std::move(*png);
    }
  }
  return views;
}

}  // namespace highwater::window
