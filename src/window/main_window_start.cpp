// The window and its start page: what the page asks for, and files that are dropped.
#include <QDragEnterEvent>
#include <QMimeData>
#include <QStackedWidget>

#include "models/qt_text.h"
#include "session/command_text.h"
#include "views/key_text.h"
#include "views/panels/banner.h"
#include "views/panes/pane_stack.h"
#include "window/dock_layout.h"
#include "window/main_window.h"
#include "window/opening_page.h"
#include "window/run_notices.h"
#include "window/run_search.h"
#include "window/run_tool_bar.h"
#include "window/start/script_fields.h"
#include "window/start_page.h"
#include "window/window_actions.h"
#include "window/window_docks.h"

namespace highwater::window {
namespace {

/// The one local file that is dragged; empty for anything else.
QString draggedFile(const QMimeData* data) {
  const QList<QUrl> urls = data->urls();
  return urls.size() == 1 ? urls.front().toLocalFile() : QString();
}

}  // namespace

void MainWindow::connectStartPage() {
  connect(startPage_, &StartPage::runScriptRequested, this,
          [this](const session::ScriptOptions& script, const QString& recordingName) {
            if (auto started = runScript(script, recordingName); !started && startPageShown()) {
              startPage_->showProblem(text(started.error().message));
            }
          });
  connect(startPage_, &StartPage::runSampleRequested, this, &MainWindow::runSample);
  connect(startPage_, &StartPage::sampleSelected, this, &MainWindow::selectSample);
  connect(startPage_, &StartPage::scriptEdited, this, [this] {
    if (startPageShown()) page_ = Page::kStart;
    updateState();
  });
  connect(startPage_, &StartPage::openRecordingRequested, this,
          [this](const QString& path) { openInBackground(path.toStdString()); });
  connect(startPage_, &StartPage::recordingRenamed, this,
          [this](const QString& path, const QString& newPath) {
            run_.noteRenamed(path.toStdString(), newPath.toStdString());
            updateState();
          });
  connect(startPage_, &StartPage::chooseRecordingRequested, this, &MainWindow::chooseRecording);
}

void MainWindow::selectSample(const QString& scenario) {
  if (startPageShown()) page_ = Page::kStartWithSample;
  chooseScenario(scenario);
  toolBar_->choose(run_.options());
  updateState();
}

bool MainWindow::runsPagesScript() const {
  return page_ == Page::kStart && startPage_->namesScript();
}

void MainWindow::showWhatRuns() {
  const analysis::LiveStore& store = run_.store();
  const bool runsSample = page_ == Page::kStartWithSample;
  QString script;
  if (runsPagesScript()) {
    script = startPage_->scriptName();
  } else if (!runsSample && run_.script()) {
    script = session::programText(run_.script()->command);
    if (!run_.script()->host.isEmpty()) script = tr("%1 on %2").arg(script, run_.script()->host);
  } else if (!runsSample && store.ownScript()) {
    script = text(store.run()->workload);
  }
  const auto& options = run_.options();
  const QString sample = text(options.trained());
  toolBar_->showName(script.isEmpty() && run_.live() ? sample : script);
  actions_->run->setToolTip(
      tr("Train %1 (%2)")
          .arg(script.isEmpty() ? sample : script, views::keyText(actions_->run->shortcut())));
  if (startPageShown()) {
    startPage_->selectSample(script.isEmpty() ? std::optional(text(options.scenario))
                                              : std::nullopt);
  }
}

void MainWindow::showStartPage(bool shown) {
  if (shown && run_.live()) shown = false;
  if (shown) openingPage_->cancel();  // it covers the docks, whose layout is kept below
  actions_->startPage->setChecked(shown);
  if (shown == startPageShown()) return;
  page_ = shown ? Page::kStart : Page::kRun;
  for (QAction* ofPanes : {actions_->follow, actions_->fit, actions_->filterOps, actions_->search,
                           actions_->nextHit, actions_->previousHit, actions_->resetLayout,
                           actions_->timelineView, actions_->tuningView}) {
    ofPanes->setEnabled(!shown);
  }
  updateState();
  if (shown) {
    search_->close();
    layout_->cover();
    startPage_->showProblem({});
    centre_->setCurrentWidget(startPage_);
    banner_->hide();
    startPage_->setFocus();
  } else {
    uncoverRun();
    runPage()->setFocus();
  }
  banner_->setHasLog(!shown);  // the log is in a dock
}

void MainWindow::runSample(const QString& scenario) {
  chooseScenario(scenario);
  toolBar_->choose(run_.options());
  runWorkload();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (run_.live() || draggedFile(event->mimeData()).isEmpty()) return;
  event->acceptProposedAction();
  startPage_->showDrag(true);
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent*) {
  startPage_->showDrag(false);
}

void MainWindow::dropEvent(QDropEvent* event) {
  startPage_->showDrag(false);
  const QString file = draggedFile(event->mimeData());
  if (run_.live() || file.isEmpty()) return;
  event->acceptProposedAction();
  startPageShown() && isPythonFile(file) ? startPage_->nameScript(file)
                                         : openInBackground(file.toStdString());
}

}  // namespace highwater::window
