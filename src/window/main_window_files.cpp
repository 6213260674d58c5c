// The window and files: the dialogs that choose them, and recordings that are read behind the
// window.
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QStackedWidget>
#include <utility>

#include "models/plain_tip.h"
#include "models/qt_text.h"
#include "run/recording_watch.h"
#include "run/recordings_folder.h"
#include "views/panels/banner.h"
#include "views/panes/pane_stack.h"
#include "window/data_export.h"
#include "window/dock_layout.h"
#include "window/help_dialogs.h"
#include "window/main_window.h"
#include "window/opening_page.h"
#include "window/run_notices.h"
#include "window/run_status_bar.h"
#include "window/start_page.h"
#include "window/window_actions.h"
#include "window/window_docks.h"

namespace highwater::window {

namespace {

/// Adds the suffix that a save dialog does not add, unless that names an existing file: the dialog
/// did not ask whether to overwrite it.
QString withSuffix(const QString& path, const char* suffix) {
  const QString full = path + QLatin1String(suffix);
  return QFileInfo(path).suffix().isEmpty() && !QFileInfo::exists(full) ? full : path;
}

}  // namespace

void MainWindow::connectOpeningPage() {
  connect(openingPage_, &OpeningPage::worthShowing, this, [this] { coverWithOpening(true); });
  connect(openingPage_, &OpeningPage::cancelled, this, [this] { coverWithOpening(false); });
  connect(openingPage_, &OpeningPage::ended, this,
          [this](const std::filesystem::path& path,
                 const std::shared_ptr<Result<run::RecordingOpening::Loaded>>& loaded) {
            coverWithOpening(false);
            if (!*loaded) {
              explain(loaded->error());
              return;
            }
            const auto range = openingPage_->chosenRange();
            run::RecordingOpening::Loaded& read = **loaded;
            if (auto shown =
                    run_.show(path, std::move(read.store), std::move(read.condition), read.soFar);
                !shown) {
              explain(shown.error());
              return;
            }
            // In a turn of its own: of a long run the model of memory takes as long as the tables.
            QTimer::singleShot(0, this, [this, range, path] {
              if (!run_.showsFile() || run_.recordingPath() != path) return;
              showOpened();
              if (range) {
                axis_.setVisible(*range);
              }
            });
          });
}

void MainWindow::openInBackground(const std::filesystem::path& path) {
  if (run_.live()) {
    explain(failure("a run is going on: stop it before opening a recording"));
    return;
  }
  openingPage_->open(path, run_.store().memoryBudget());
}

void MainWindow::openFromDesktop(const QString& path) {
  if (path.isEmpty() || fromDesktop_.contains(path)) return;
  fromDesktop_ << path;
  // The Finder sends an event for each of several files, one after the other.
  if (fromDesktop_.size() == 1) {
    QTimer::singleShot(0, this, &MainWindow::openFilesFromDesktop);
  }
}

void MainWindow::openFilesFromDesktop() {
  const QStringList files = std::exchange(fromDesktop_, {});
  const bool live = run_.live();
  int noted = 0;
  // The first one becomes recent by being opened.
  for (qsizetype i = files.size() - 1; i >= (live ? 0 : 1); --i) {
    if (!QFileInfo::exists(files[i])) continue;
    startPage_->noteOpened(files[i]);
    ++noted;
  }
  if (live && noted > 0) {
    notices_->showProblem(
        noted == 1 ? tr("a run is going on: once it has ended, the recording is in File, Open "
                        "recent")
                   : tr("a run is going on: once it has ended, the %1 recordings are in File, Open "
                        "recent")
                         .arg(noted));
  } else {
    openInBackground(files.front().toStdString());
    if (files.size() > 1) {
      status_->showMessage(tr("%1 is opened; the others are in File, Open recent")
                               .arg(QFileInfo(files.front()).fileName()),
                           8000);
    }
  }
  if (isMinimized()) showNormal();
  raise();
  activateWindow();
}

void MainWindow::coverWithOpening(bool covered) {
  const bool covers = centre_->currentWidget() == openingPage_;
  if (covered == covers) {
    return;
  }
  actions_->mark->setEnabled(!covered && run_.store().hello().has_value());
  if (covered) {
    banner_->hide();
    if (!startPageShown()) layout_->cover();
    centre_->setCurrentWidget(openingPage_);
    openingPage_->setFocus();
  } else if (startPageShown()) {
    centre_->setCurrentWidget(startPage_);
  } else {
    uncoverRun();
  }
}

void MainWindow::uncoverRun() {
  centre_->setCurrentWidget(runPage());
  layout_->uncover();
  docks_->showTuning(tuningShown());
}

void MainWindow::explain(const Error& error) {
  notices_->showProblem(text(error.message));
}

void MainWindow::chooseRecording() {
  const QString path = QFileDialog::getOpenFileName(
      this, tr("Open recording"), QFileInfo(text(run_.recordingPath().string())).path(),
      tr("Recordings (*.highwater);;All files (*)"));
  if (path.isEmpty()) {
    return;
  }
  openInBackground(path.toStdString());
}

void MainWindow::reload() {
  openInBackground(run_.recordingPath());
}

void MainWindow::showReplaced() {
  updateState();
  notices_->showReplaced(tr("%1 holds another run by now. Shown is the one before it, which is no "
                            "longer on disk and takes no notes")
                             .arg(text(run_.recordingPath().filename().string())));
}

void MainWindow::listRecent() {
  constexpr int kMostRecent = 12;
  QMenu* menu = actions_->recentMenu;
  menu->clear();
  menu->setToolTipsVisible(true);
  for (const QString& path : startPage_->recentFiles(kMostRecent)) {
    QString name = QFileInfo(path).completeBaseName();
    QAction* action = menu->addAction(name.replace(QLatin1Char('&'), QLatin1String("&&")));
    action->setToolTip(models::plainTip(run::shownPath(path)));
    connect(action, &QAction::triggered, this,
            [this, path] { openInBackground(path.toStdString()); });
  }
  if (menu->isEmpty()) {
    menu->addAction(tr("No recordings yet"))->setEnabled(false);
  }
}

void MainWindow::chooseOther() {
  const QString shown = text(run_.recordingPath().string());
  const QString path =
      QFileDialog::getOpenFileName(this, tr("Compare with recording"), QFileInfo(shown).path(),
                                   tr("Recordings (*.highwater);;All files (*)"));
  if (path.isEmpty()) return;
  showCompareDialog(this, program_, path, shown);
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
    watch_->look();
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

void MainWindow::connectDataExport() {
  constexpr int kShownMs = 8000;
  connect(dataExport_, &DataExport::started, this, [this] {
    status_->showMessage(tr("Exporting %1…").arg(dataExport_->name()), kShownMs);
    showDataExport();
  });
  connect(dataExport_, &DataExport::finished, this,
          [this](const QString& summary, const QString& remark) {
            status_->showMessage(tr("Exported %1").arg(summary), kShownMs);
            if (!remark.isEmpty()) notices_->showNote(remark);
            showDataExport();
          });
  connect(dataExport_, &DataExport::failed, this, [this](const QString& reason) {
    status_->clearMessage();
    notices_->showProblem(reason);
    showDataExport();
  });
  connect(dataExport_, &DataExport::cancelled, this, [this] {
    status_->showMessage(tr("The export of %1 is cancelled").arg(dataExport_->name()), kShownMs);
    showDataExport();
  });
}

void MainWindow::showDataExport() {
  // Of a run that goes on, what its file has by now is exported.
  actions_->exportData->setEnabled(dataExport_->isRunning() ||
                                   (run_.store().hello() && !run_.recordingPath().empty() &&
                                    !startPageShown() && (!run_.live() || run_.recording())));
  QString name = dataExport_->name();
  name.replace(QLatin1Char('&'), QLatin1String("&&"));
  actions_->exportData->setText(dataExport_->isRunning() ? tr("Cancel export of %1").arg(name)
                                                         : tr("Export data…"));
}

void MainWindow::chooseDataExport() {
  if (dataExport_->isRunning()) {
    dataExport_->cancel();
    return;
  }
  if (watch_->look()) {
    showReplaced();
    return;
  }
  const QString recording = text(run_.recordingPath().string());
  if (const auto target = askForDataExport(this, recording)) {
    dataExport_->start(program_, recording, *target);
  }
}

}  // namespace highwater::window
