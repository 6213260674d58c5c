#include "window/start/script_panel.h"

#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QFileInfo>
#include <QGuiApplication>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QToolButton>

#include "models/plain_tip.h"
#include "run/recordings_folder.h"
#include "session/interpreters.h"
#include "views/icons.h"
#include "views/theme.h"

namespace highwater::window {
namespace {

constexpr int kSettleMs = 250;
/// The fields of the environment, in their order.
constexpr ScriptField kEnvironment[] = {ScriptField::kFallback, ScriptField::kHighWatermark,
                                        ScriptField::kLowWatermark, ScriptField::kSimulatedMemory,
                                        ScriptField::kOtherVariables};

}  // namespace

ScriptPanel::ScriptPanel(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("scriptPanel"));
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(12, 10, 12, 10);
  rows_ = std::make_unique<FormRows>(grid);
  makeFields();
  makeEnvironment();
  makeButtons();
  settle_.setSingleShot(true);
  settle_.setInterval(kSettleMs);
  connect(&settle_, &QTimer::timeout, this, &ScriptPanel::check);
  connect(&question_, &InterpreterQuestion::answered, this, &ScriptPanel::showAnswer);
  check();
}

ScriptPanel::~ScriptPanel() = default;

ScriptFields ScriptPanel::fields() const {
  ScriptFields fields;
  fields.script = script_->text();
  fields.arguments = arguments_->text();
  fields.workingFolder = folder_->text();
  fields.host = host_->text();
  fields.python = python_->currentText();
  fields.simulated = device_->currentData().toBool();
  fields.level = currentLevel();
  fields.recording = recording_->text();
  fields.fallback = fallback_->currentData().toString();
  fields.highWatermark = high_->text();
  fields.lowWatermark = low_->text();
  fields.simulatedMemory = simulatedMemory_->text();
  fields.otherVariables = others_->text();
  return fields;
}

bool ScriptPanel::namesScript() const {
  return !script_->text().trimmed().isEmpty();
}

void ScriptPanel::run() {
  check();
  if (!request_.ok()) {
    const ScriptField first = request_.problems.begin()->first;
    for (const ScriptField each : kEnvironment) {
      if (each == first) environmentToggle_->setChecked(true);
    }
    rows_->widgetOf(first)->setFocus();
    return;
  }
  QDir().mkpath(run::recordingsFolder());
  recordingChosen_ = false;  // the next run needs another name
  emit runRequested(request_.options, request_.recording);
}

void ScriptPanel::check() {
  settle_.stop();
  offerPythons();
  ScriptFields now = fields();
  if (!recordingChosen_) {
    const QSignalBlocker quiet(recording_);
    recording_->setText(namesScript() ? run::freeRecordingName(recordingStemOf(now)) : QString());
    now.recording = recording_->text();
  }
  request_ = checkScript(now);
  auto problems = request_.problems;
  if (!namesScript()) {
    // A form that nobody has begun to fill in has no errors.
    problems.erase(ScriptField::kScript);
    problems.erase(ScriptField::kRecording);
  }
  rows_->showProblems(problems);
  run_->setEnabled(namesScript() && request_.ok());
  run_->setIcon(views::icon(views::Icon::kRun,
                            run_->isEnabled() ? QColor(Qt::white) : views::Theme::of(this).text3));
  command_->setText(request_.ok() ? terminalCommand(request_) : QString());
  command_->setCursorPosition(0);
  command_->setToolTip(models::plainTip(command_->text()));
  copy_->setEnabled(request_.ok());
  showMachine();
  showDevice();
  showEnvironment();
  askPython();
  emit checked();
}

void ScriptPanel::refresh() {
  asked_.clear();
  works_.clear();
  check();
}

void ScriptPanel::offerPythons() {
  const ScriptFields now = fields();
  const QString script = scriptFileOf(now);
  const QStringList found =
      runsElsewhere(now)
          ? QStringList{QStringLiteral("python3")}
          : session::findInterpreters(
                {workingFolderOf(now), script.isEmpty() ? QString() : QFileInfo(script).path()},
                QProcessEnvironment::systemEnvironment());
  QStringList shown;
  for (const QString& each : found) shown << run::shownPath(each);
  QStringList listed;
  for (int i = 0; i < python_->count(); ++i) listed << python_->itemText(i);
  const QString written = python_->currentText();
  const QString meant =
      pythonChosen_ && !written.isEmpty() ? written : run::shownPath(likeliestPython(found));
  if (shown == listed && meant == written) return;
  const QSignalBlocker quiet(python_);
  if (shown != listed) {
    python_->clear();
    python_->addItems(shown);
  }
  python_->setEditText(meant);
}

/// The first that is not known to lack PyTorch; the first of all if none has it.
QString ScriptPanel::likeliestPython(const QStringList& found) const {
  for (const QString& each : found) {
    if (works_.value(each, true)) return each;
  }
  return found.value(0);
}

void ScriptPanel::setAsksPython(bool asks) {
  asksPython_ = asks;
  if (asks) {
    askPython();
  } else {
    question_.cancel();
    asked_.clear();
  }
}

void ScriptPanel::askPython() {
  if (!asksPython_) return;
  const ScriptFields now = fields();
  const QString python = pythonOf(now);
  const QString script = scriptFileOf(now);
  // Where Python looks for modules first.
  const QString folder = script.isEmpty() ? workingFolderOf(now) : QFileInfo(script).path();
  // A folder that Highwater happens to be started in may be anybody's: its Python is run only for a
  // user who has named a script.
  const bool ofFolder = python.startsWith(workingFolderOf(now) + u'/');
  if (ofFolder && !namesScript() && !pythonChosen_) return;
  if (runsElsewhere(now)) {
    asked_.clear();
    rows_->setWarning(ScriptField::kPython, {});
    rows_->setNote(ScriptField::kPython, tr("As %1 knows it").arg(now.host.trimmed()));
    return;
  }
  const QString question = python + u'\n' + folder;
  if (python.isEmpty() || question == asked_) return;
  asked_ = question;
  rows_->setWarning(ScriptField::kPython, {});
  rows_->setNote(ScriptField::kPython, tr("Asking for its PyTorch…"));
  question_.ask(python, folder);
}

void ScriptPanel::showAnswer(const InterpreterAnswer& answer) {
  works_[answer.program] = answer.problem.isEmpty();
  if (!answer.problem.isEmpty() && !pythonChosen_) {
    const QString before = python_->currentText();
    offerPythons();
    if (python_->currentText() != before) {
      check();  // asks the other one
      return;
    }
  }
  QString problem = answer.problem;
  if (!problem.isEmpty()) {
    problem[0] = problem[0].toUpper();
    rows_->setWarning(ScriptField::kPython, problem);
  } else {
    rows_->setWarning(ScriptField::kPython, {});
    const QString probe =
        answer.probeReady ? tr("probe ready") : tr("probe is built once, about 20 s");
    rows_->setNote(ScriptField::kPython,
                   tr("PyTorch %1, Python %2, %3").arg(answer.torch, answer.version, probe));
  }
  emit interpreterAnswered(answer);
}

void ScriptPanel::setSimulatedMemory(const QString& recommended) {
  recommended_ = recommended;
  showDevice();
}

/// What depends on where the script runs.
void ScriptPanel::showMachine() {
  const ScriptFields now = fields();
  const bool elsewhere = runsElsewhere(now);
  folder_->setPlaceholderText(elsewhere ? tr("The home folder there")
                                        : run::shownPath(workingFolderOf(now)));
  environmentNote_->setText(elsewhere ? tr("Added to the environment that ssh gives there")
                                      : tr("Added to this program's own environment"));
  for (QPushButton* each : browse_) each->setEnabled(!elsewhere);
}

void ScriptPanel::showDevice() {
  const bool elsewhere = runsElsewhere(fields());
  if (device_->currentData().toBool()) {
    deviceNote_->setText(recommended_.isEmpty() || elsewhere
                             ? tr("Simulated times and memory")
                             : tr("Simulated, with %1 recommended").arg(recommended_));
    return;
  }
#if defined(Q_OS_MACOS)
  constexpr bool kHasMps = true;
#else
  constexpr bool kHasMps = false;
#endif
  deviceNote_->setText(kHasMps || elsewhere
                           ? tr("As without Highwater: the script chooses")
                           : tr("As without Highwater. No mps on Linux: times, no device memory"));
}

void ScriptPanel::copyCommand() {
  // The command writes there.
  QDir().mkpath(run::recordingsFolder());
  QGuiApplication::clipboard()->setText(command_->text());
}

}  // namespace highwater::window
