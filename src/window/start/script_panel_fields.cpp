// The fields of the form.
#include <QAbstractButton>
#include <QButtonGroup>
#include <QComboBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>
#include <QWheelEvent>

#include "core/sim_knobs.h"
#include "run/recordings_folder.h"
#include "session/python_package.h"
#include "views/panels/link_button.h"
#include "window/start/form_rows.h"
#include "window/start/script_panel.h"
#include "window/start/start_block.h"

namespace highwater::window {
namespace {

constexpr int kNarrow = 224;
constexpr const char* kLevels[] = {"off", "monitor", "ops"};

/// A combo box that does not change while the user scrolls the page.
class CalmCombo final : public QComboBox {
 public:
  using QComboBox::QComboBox;

 protected:
  void wheelEvent(QWheelEvent* event) override { event->ignore(); }
};

QString levelWords(const QString& level) {
  if (level == QLatin1String("off")) return ScriptPanel::tr("Steps and memory only");
  if (level == QLatin1String("ops"))
    return ScriptPanel::tr("All that, and every op: costs the most");
  return ScriptPanel::tr("Steps, phases, memory, waits and fallbacks");
}

}  // namespace

QLineEdit* ScriptPanel::lineEdit(const char* name) {
  auto* edit = new QLineEdit(this);
  edit->setObjectName(QLatin1String(name));
  edit->setProperty("kind", "field");
  edit->setFixedHeight(kFieldHeight);
  edit->setAcceptDrops(false);  // the window takes them
  connect(edit, &QLineEdit::textChanged, this, [this] { settle_.start(); });
  connect(edit, &QLineEdit::returnPressed, this, &ScriptPanel::run);
  return edit;
}

QPushButton* ScriptPanel::browseButton(const char* name, const QString& tip) {
  auto* button = new QPushButton(tr("Browse…"), this);
  button->setObjectName(QLatin1String(name));
  button->setAccessibleName(tip);
  button->setToolTip(tip);
  button->setFixedHeight(kFieldHeight);
  button->setAutoDefault(false);
  browse_.push_back(button);
  return button;
}

void ScriptPanel::makeFields() {
  script_ = lineEdit("scriptField");
  script_->setPlaceholderText(tr("train.py, -m package, or torchrun …"));
  auto* browse = browseButton("browseScriptButton", tr("Choose a script"));
  connect(browse, &QPushButton::clicked, this, &ScriptPanel::browseScript);
  rows_->add(ScriptField::kScript, tr("Script"), script_, browse,
             tr("A file, a module, or a launcher such as torchrun"));
  arguments_ = lineEdit("argumentsField");
  rows_->add(ScriptField::kArguments, tr("Arguments"), arguments_, nullptr,
             tr("As on the command line"));
  folder_ = lineEdit("workingFolderField");
  browse = browseButton("browseFolderButton", tr("Choose the working folder"));
  connect(browse, &QPushButton::clicked, this, &ScriptPanel::browseFolder);
  rows_->add(ScriptField::kWorkingFolder, tr("Working folder"), folder_, browse,
             tr("The folder the script starts in"));
  host_ = lineEdit("hostField");
  host_->setFixedWidth(kNarrow);
  host_->setPlaceholderText(tr("This one"));
  rows_->add(ScriptField::kHost, tr("Machine"), host_, nullptr,
             tr("Another one by ssh, with its Highwater: user@studio"), true);
  python_ = new CalmCombo(this);
  python_->setObjectName(QStringLiteral("pythonField"));
  python_->setEditable(true);
  python_->setInsertPolicy(QComboBox::NoInsert);
  python_->setCompleter(nullptr);
  python_->lineEdit()->setAcceptDrops(false);
  python_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  python_->setMinimumContentsLength(10);
  python_->setFixedHeight(kFieldHeight);
  connect(python_, &QComboBox::editTextChanged, this, [this] {
    pythonChosen_ = true;
    settle_.start();
  });
  connect(python_->lineEdit(), &QLineEdit::returnPressed, this, &ScriptPanel::run);
  browse = browseButton("browsePythonButton", tr("Choose a Python"));
  connect(browse, &QPushButton::clicked, this, &ScriptPanel::browsePython);
  rows_->add(ScriptField::kPython, tr("Python"), python_, browse, {});
  device_ = new CalmCombo(this);
  device_->setObjectName(QStringLiteral("scriptDeviceField"));
  device_->setFixedSize(kNarrow, kFieldHeight);
  if (QFileInfo::exists(session::simulatedDeviceLibrary())) {
    device_->addItem(tr("mps, simulated"), true);
  }
  device_->addItem(tr("auto"), false);
  connect(device_, &QComboBox::currentIndexChanged, this, [this] { settle_.start(); });
  deviceNote_ = rows_->add(tr("Device"), device_, {}, true);
  auto* levels = new QWidget(this);
  levels->setObjectName(QStringLiteral("levelSegments"));
  levels->setFixedSize(kNarrow, kFieldHeight);
  auto* row = new QHBoxLayout(levels);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  level_ = new QButtonGroup(this);
  for (const char* each : kLevels) {
    auto* button = new QToolButton(levels);
    button->setText(QLatin1String(each));
    button->setObjectName(QLatin1String(each) + QStringLiteral("LevelSegment"));
    button->setCheckable(true);
    button->setChecked(QLatin1String(each) == QLatin1String("monitor"));
    button->setProperty("kind", "segment");
    button->setFocusPolicy(Qt::TabFocus);
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    level_->addButton(button);
    row->addWidget(button);
  }
  levelNote_ = rows_->add(tr("Level"), levels, levelWords(currentLevel()), true);
  connect(level_, &QButtonGroup::buttonToggled, this, [this](QAbstractButton*, bool on) {
    if (!on) return;
    levelNote_->setText(levelWords(currentLevel()));
    settle_.start();
  });
  recording_ = lineEdit("recordingField");
  connect(recording_, &QLineEdit::textEdited, this, [this] { recordingChosen_ = true; });
  recording_->setFixedWidth(kNarrow);
  rows_->add(ScriptField::kRecording, tr("Recording"), recording_, nullptr,
             tr("In %1").arg(run::shownPath(run::recordingsFolder())), true);
}

QString ScriptPanel::currentLevel() const {
  const QAbstractButton* button = level_->checkedButton();
  return button ? button->text() : QStringLiteral("monitor");
}

void ScriptPanel::makeEnvironment() {
  auto* line = new QWidget(this);
  auto* row = new QHBoxLayout(line);
  row->setContentsMargins(0, 0, 0, 0);
  environmentToggle_ = views::linkButton(tr("Change…"), "environmentToggle", line);
  environmentToggle_->setCheckable(true);
  environmentToggle_->setFocusPolicy(Qt::TabFocus);
  environmentSummary_ = new QLabel(line);
  environmentSummary_->setObjectName(QStringLiteral("environmentSummary"));
  environmentSummary_->setTextFormat(Qt::PlainText);
  row->addWidget(environmentSummary_);
  row->addWidget(environmentToggle_);
  row->addStretch(1);
  environmentNote_ = rows_->add(tr("Environment"), line, {});
  fallback_ = new CalmCombo(this);
  fallback_->setObjectName(QStringLiteral("fallbackField"));
  fallback_->setFixedSize(kNarrow, kFieldHeight);
  fallback_->addItem(tr("as inherited"), QString());
  fallback_->addItem(tr("allowed"), QStringLiteral("1"));
  fallback_->addItem(tr("an error"), QStringLiteral("0"));
  connect(fallback_, &QComboBox::currentIndexChanged, this, [this] { settle_.start(); });
  high_ = lineEdit("highWatermarkField");
  low_ = lineEdit("lowWatermarkField");
  simulatedMemory_ = lineEdit("simulatedMemoryField");
  others_ = lineEdit("otherVariablesField");
  for (QLineEdit* each : {high_, low_, simulatedMemory_}) {
    each->setPlaceholderText(tr("as inherited"));
    each->setFixedWidth(kNarrow);
  }
  others_->setPlaceholderText(tr("NAME=VALUE NAME=VALUE"));
  rows_->add(ScriptField::kFallback, tr("CPU fallback"), fallback_, nullptr,
             QLatin1String(kMpsFallbackVariable), true);
  rows_->add(ScriptField::kHighWatermark, tr("High watermark"), high_, nullptr,
             QLatin1String(kMpsHighWatermarkVariable), true);
  rows_->add(ScriptField::kLowWatermark, tr("Low watermark"), low_, nullptr,
             QLatin1String(kMpsLowWatermarkVariable), true);
  rows_->add(ScriptField::kSimulatedMemory, tr("Recommended"), simulatedMemory_, nullptr,
             QLatin1String(kSimRecommendedVariable), true);
  rows_->add(ScriptField::kOtherVariables, tr("Others"), others_, nullptr,
             tr("For this session only: not saved"));
  connect(environmentToggle_, &QToolButton::toggled, this, &ScriptPanel::showEnvironment);
}

void ScriptPanel::showEnvironment() {
  const bool open = environmentToggle_->isChecked();
  environmentToggle_->setText(open ? tr("Hide") : tr("Change…"));
  const bool simulated = device_->currentData().toBool();
  for (const ScriptField each : {ScriptField::kFallback, ScriptField::kHighWatermark,
                                 ScriptField::kLowWatermark, ScriptField::kOtherVariables}) {
    rows_->setShown(each, open);
  }
  rows_->setShown(ScriptField::kSimulatedMemory, open && simulated);
  const auto count = request_.options.environment.size();
  environmentSummary_->setText(count == 0   ? tr("As inherited")
                               : count == 1 ? request_.options.environment.front()
                                            : tr("%1 variables set").arg(count));
}

void ScriptPanel::makeButtons() {
  auto* grid = static_cast<QGridLayout*>(layout());
  auto* line = new SeparatorLine(Qt::Horizontal, this);
  grid->addWidget(line, grid->rowCount(), 0, 1, 4);
  run_ = new QPushButton(
      tr("Run script   %1")
          .arg(QKeySequence(Qt::CTRL | Qt::Key_R).toString(QKeySequence::NativeText)),
      this);
  run_->setObjectName(QStringLiteral("runScriptButton"));
  run_->setProperty("kind", "primary");
  run_->setAutoDefault(false);
  run_->setFixedHeight(30);
  connect(run_, &QPushButton::clicked, this, &ScriptPanel::run);
  grid->addWidget(run_, grid->rowCount(), 1, Qt::AlignLeft);
  command_ = new QLineEdit(this);
  command_->setObjectName(QStringLiteral("commandField"));
  command_->setProperty("kind", "command");
  command_->setReadOnly(true);
  command_->setFixedHeight(kFieldHeight);
  command_->setAccessibleName(tr("The same in a terminal"));
  auto* label = new QLabel(tr("In a terminal"), this);
  label->setProperty("kind", "quiet");
  copy_ = views::linkButton(tr("Copy"), "copyCommandButton", this);
  connect(copy_, &QToolButton::clicked, this, &ScriptPanel::copyCommand);
  const int row = grid->rowCount();
  grid->addWidget(label, row, 0);
  grid->addWidget(command_, row, 1, 1, 2);
  grid->addWidget(copy_, row, 3, Qt::AlignLeft);
}

}  // namespace highwater::window
