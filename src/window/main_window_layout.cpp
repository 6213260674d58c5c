// The window and its size: what is laid out otherwise where there is less room.
#include <QFileOpenEvent>
#include <QScreen>
#include <QTimer>
#include <QWindow>
#include <utility>

#include "views/panes/pane_stack.h"
#include "window/main_window.h"
#include "window/opening_page.h"
#include "window/run_status_bar.h"
#include "window/run_tool_bar.h"
#include "window/tuning_page.h"
#include "window/window_docks.h"

namespace highwater::window {
namespace {

constexpr int kSmallBelow = 1400, kLowBelow = 820;
/// Narrower windows have no room for docks on both sides of the panes.
constexpr int kCompactBelow = 1100;
/// A compact window of this height has room for Selection above Findings.
constexpr int kTallFrom = 720;
constexpr QSize kFrame(16, 48);  ///< room for the window frame of any system

bool isSmall(const QSize& size) {
  return size.width() < kSmallBelow || size.height() < kLowBelow;
}

}  // namespace

QSize MainWindow::firstSize(const QSize& available) {
  return kFullSize.boundedTo(available - kFrame);
}

MainWindow::WindowSize MainWindow::windowSize() const {
  const bool compact = width() < kCompactBelow;
  return {isSmall(size()), compact, compact && height() >= kTallFrom};
}

void MainWindow::layOutAllButDocks() {
  laidOutFor_ = windowSize();
  const bool small = laidOutFor_.small;
  toolBar_->setSmall(small);
  toolBar_->setCompact(laidOutFor_.compact);
  status_->setSmall(small);
  panes_->setSmall(small);
  if (tuningPage_) tuningPage_->setSmall(small);
  openingPage_->setSmall(small);
  status_->refresh(run_);
}

void MainWindow::layOut() {
  layOutAllButDocks();
  layOutLater_ = docksCovered();
  if (!layOutLater_) {
    layOutDocks();
  }
}

/// A compact window rearranges the docks. The layout before that, which may be the user's own,
/// comes back with the room for it, and is the one that is stored.
void MainWindow::layOutDocks() {
  const auto [small, compact, tall] = laidOutFor_;
  if (compact) {
    compact_ = true;
    docks_->setSmall(true);
    docks_->setCompact(tall);
    return;
  }
  docksLaidOut_ = isVisible();
  const bool wasCompact = std::exchange(compact_, false);
  if (!wasCompact) {
    docks_->setSmall(small);
    return;
  }
  const bool kept = !roomyState_.isEmpty();
  docks_->setSmall(kept ? roomySmall_ : small);
  restoreState(kept ? roomyState_ : firstState_, kStateVersion);
  docks_->hideEmpty();
  // Docks accept sizes only after the window has been laid out with them.
  QTimer::singleShot(0, this, [this, kept] {
    if (compact_ || docksCovered()) return;
    if (kept && roomySmall_ == laidOutFor_.small) {
      restoreState(roomyState_, kStateVersion);
      docks_->hideEmpty();
    } else {
      docks_->setSmall(laidOutFor_.small);
    }
  });
}

QByteArray MainWindow::layoutToStore() {
  if (compact_) {
    return roomyState_;
  }
  return pageShown_ ? dockState_ : saveState(kStateVersion);
}

void MainWindow::resetLayout() {
  compact_ = false;
  roomyState_.clear();
  restoreState(firstState_, kStateVersion);
  docks_->showAll();
  QTimer::singleShot(0, this, [this] { layOut(); });
}

void MainWindow::showEvent(QShowEvent* event) {
  QMainWindow::showEvent(event);
  axis_.frames().setRate(screen()->refreshRate());
  if (!event->spontaneous()) {
    connect(windowHandle(), &QWindow::screenChanged, &axis_,
            [this] { axis_.frames().setRate(screen()->refreshRate()); });
  }
  // Docks accept sizes only after the window has been laid out.
  if (!docksPlaced_) {
    docksPlaced_ = true;
    QTimer::singleShot(0, this, [this] { layOut(); });
  }
}

/// Keeps the layout of the docks before a compact window squeezes them: at its resizeEvent() they
/// already are. Only a filter of the application comes before the window's layout, and only the
/// application gets the files that the Finder opens.
bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
  if (watched == QCoreApplication::instance() && event->type() == QEvent::FileOpen) {
    openFromDesktop(static_cast<QFileOpenEvent*>(event)->file());
    return true;
  }
  if (watched == this && event->type() == QEvent::Resize && docksLaidOut_ && !compact_ &&
      windowSize().compact && !docksCovered()) {
    roomyState_ = saveState(kStateVersion);
    roomySmall_ = docks_->isSmall();
  }
  return QMainWindow::eventFilter(watched, event);
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  if (windowSize() != laidOutFor_) {
    layOut();
  }
}

}  // namespace highwater::window
