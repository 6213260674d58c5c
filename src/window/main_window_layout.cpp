// The window and its size: what is laid out otherwise where there is less room.
#include <QFileOpenEvent>
#include <QScreen>
#include <QWindow>

#include "views/panes/pane_stack.h"
#include "window/dock_layout.h"
#include "window/main_window.h"
#include "window/opening_page.h"
#include "window/run_status_bar.h"
#include "window/run_tool_bar.h"
#include "window/tuning_page.h"

namespace highwater::window {

QSize MainWindow::firstSize(const QSize& available) {
  constexpr QSize kFrame(16, 48);  // room for the window frame of any system
  return kFullSize.boundedTo(available - kFrame);
}

void MainWindow::layOutAllButDocks() {
  const auto [small, compact, tall] = layout_->size();
  toolBar_->setSmall(small);
  toolBar_->setCompact(compact);
  status_->setSmall(small);
  panes_->setSmall(small);
  if (tuningPage_) tuningPage_->setSmall(small);
  openingPage_->setSmall(small);
  status_->refresh(run_);
}

void MainWindow::showEvent(QShowEvent* event) {
  QMainWindow::showEvent(event);
  axis_.frames().setRate(screen()->refreshRate());
  if (!event->spontaneous()) {
    connect(windowHandle(), &QWindow::screenChanged, &axis_,
            [this] { axis_.frames().setRate(screen()->refreshRate()); });
  }
  layout_->shown();
}

/// Only a filter of the application comes before the window's layout, and only the application gets
/// the files that the Finder opens and the clicks in the Dock.
bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
  if (watched == QCoreApplication::instance() && event->type() == QEvent::FileOpen) {
    openFromDesktop(static_cast<QFileOpenEvent*>(event)->file());
    return true;
  }
  // A click on the Dock's icon of a program that goes on while its script trains.
  if (watched == QCoreApplication::instance() && event->type() == QEvent::ApplicationActivate &&
      wasClosed_ && !isVisible()) {
    showInFront();
  }
  if (watched == this && event->type() == QEvent::Resize) layout_->beforeResize();
  return QMainWindow::eventFilter(watched, event);
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  layout_->resized();
}

}  // namespace highwater::window
