// The window's file dialogs.
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>

#include "models/plain_tip.h"
#include "models/qt_text.h"
#include "window/main_window.h"
#include "window/run_notices.h"
#include "window/start/recordings_folder.h"
#include "window/start_page.h"
#include "window/window_actions.h"

namespace highwater::window {

namespace {

/// Adds the suffix that a save dialog does not add, unless that names an existing file: the dialog
/// did not ask whether to overwrite it.
QString withSuffix(const QString& path, const char* suffix) {
  const QString full = path + QLatin1String(suffix);
  return QFileInfo(path).suffix().isEmpty() && !QFileInfo::exists(full) ? full : path;
}

}  // namespace

void MainWindow::chooseRecording() {
  const QString path = QFileDialog::getOpenFileName(
      this, tr("Open recording"), QFileInfo(text(run_.recordingPath().string())).path(),
      tr("Recordings (*.highwater);;All files (*)"));
  if (path.isEmpty()) {
    return;
  }
  openOrExplain(path);
}

void MainWindow::listRecent() {
  constexpr int kMostRecent = 12;
  QMenu* menu = actions_->recentMenu;
  menu->clear();
  menu->setToolTipsVisible(true);
  for (const QString& path : startPage_->recentFiles(kMostRecent)) {
    QString name = QFileInfo(path).completeBaseName();
    QAction* action = menu->addAction(name.replace(QLatin1Char('&'), QLatin1String("&&")));
    action->setToolTip(models::plainTip(shownPath(path)));
    connect(action, &QAction::triggered, this, [this, path] { openOrExplain(path); });
  }
  if (menu->isEmpty()) {
    menu->addAction(tr("No recordings yet"))->setEnabled(false);
  }
}

void MainWindow::chooseCopy() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Save recording as"),
                                                    text(run_.recordingPath().filename().string()),
                                                    tr("Recordings (*.highwater)"));
  if (path.isEmpty()) {
    return;
  }
  if (auto saved = run_.saveAs(withSuffix(path, ".highwater").toStdString()); !saved) {
    notices_->showProblem(text(saved.error().message));
  }
}

void MainWindow::choosePicture() {
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Export picture"), QStringLiteral("highwater.png"), tr("Pictures (*.png)"));
  if (path.isEmpty()) {
    return;
  }
  renderNow();
  const QString file = withSuffix(path, ".png");
  if (!grab().save(file)) {
    notices_->showProblem(tr("%1 cannot be written").arg(file));
  }
}

}  // namespace highwater::window
