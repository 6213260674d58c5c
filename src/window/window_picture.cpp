#include "window/window_picture.h"

#include <QApplication>
#include <QBuffer>
#include <QFileInfo>
#include <QImageReader>
#include <QImageWriter>
#include <QPixmap>
#include <QSaveFile>
#include <algorithm>

#include "window/main_window.h"

namespace highwater::window {
namespace {

/// The number of steps in a picture: few enough to tell phases and lost time apart.
constexpr std::size_t kStepsShown = 24;

/// Shows the steps around the last change of batch size or sequence length, or else the last steps;
/// a short run as a whole.
void showRepresentativeRange(MainWindow& window) {
  const analysis::LiveStore& store = window.currentRun().store();
  const auto& steps = store.steps().records;
  if (steps.size() <= kStepsShown) {
    window.timeAxis().fit();
    return;
  }
  std::size_t first = steps.size() - kStepsShown;
  for (const auto& marker : store.markers()) {
    const auto kind = marker.kind();
    if (kind == events::MarkerKind::BatchSize || kind == events::MarkerKind::SequenceLength) {
      const auto at = std::lower_bound(
          steps.begin(), steps.end(), marker.time_ns(),
          [](const events::StepRecord& step, std::int64_t t) { return step.begin_ns() < t; });
      const auto index = static_cast<std::size_t>(at - steps.begin());
      first = std::clamp<std::size_t>(index > kStepsShown / 3 ? index - kStepsShown / 3 : 0, 0,
                                      steps.size() - kStepsShown);
    }
  }
  const auto& last = steps[first + kStepsShown - 1];
  const std::int64_t begin = steps[first].begin_ns(), end = last.begin_ns() + last.duration_ns();
  window.timeAxis().setVisible({begin, end + (end - begin) / 50});
}

/// Allows to replace an earlier picture, but not a file that was named by mistake. kExists.
Result<void> checkReplaced(const std::filesystem::path& image) {
  const QString path = QString::fromStdString(image.string());
  const QFileInfo info(path);
  // QSaveFile would replace a device by the picture.
  if (info.exists() && !info.isFile()) {
    return failure(image.string() + " is not a regular file; name another output");
  }
  // By its content: the name says nothing about what is in a file.
  QImageReader old(path);
  old.setDecideFormatFromContent(true);
  if (info.size() == 0 || old.canRead()) return {};
  return Error{ErrorCode::kExists, image.string() +
                                       " exists and is not a picture, so it is not overwritten; "
                                       "name another output"};
}

}  // namespace

Result<RecordingCondition> exportWindowPicture(const std::filesystem::path& recording,
                                               const std::filesystem::path& image,
                                               const PictureOptions& options) {
  const QString path = QString::fromStdString(image.string());
  const QByteArray format = QByteArray::fromStdString(image.extension().string()).mid(1).toLower();
  if (!QImageWriter::supportedImageFormats().contains(format)) {
    return usageError("the picture's name must end in a known kind, such as .png: " +
                      image.string());
  }
  if (options.size.width() < 800 || options.size.height() < 600 || options.size.width() > 8192 ||
      options.size.height() > 8192) {
    return usageError("the picture must be 800 × 600 to 8192 × 8192 pixels large");
  }
  if (auto replaced = checkReplaced(image); !replaced) return replaced.error();
  applyTheme(options.dark ? ThemeChoice::kDark : ThemeChoice::kLight);
  MainWindow window({}, nullptr, MainWindow::Settings::kOff);
  window.setAttribute(Qt::WA_DontShowOnScreen);
  window.resize(options.size);
  if (auto opened = window.openRecording(recording); !opened) {
    return opened.error();
  }
  window.show();
  QApplication::processEvents();
  showRepresentativeRange(window);
  window.renderNow();
  QApplication::processEvents();
  window.renderNow();
  const QImage picture = window.grab().toImage();
  // Encode in memory first: on a full disk, image libraries print to stderr and hide the reason.
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QImageWriter writer(&buffer, format);
  if (!writer.write(picture)) {
    return failure(image.string() + " cannot be written: " + writer.errorString().toStdString());
  }
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) {
    return Error{ErrorCode::kNoPermission,
                 image.string() + " cannot be written: " + file.errorString().toStdString()};
  }
  // flush() reports the reason of a failure, which commit() does not.
  if (file.write(bytes) != bytes.size() || !file.flush() || !file.commit()) {
    return failure(image.string() + " cannot be written: " + file.errorString().toStdString());
  }
  return window.currentRun().condition();
}

}  // namespace highwater::window
