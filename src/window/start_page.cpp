#include "window/start_page.h"

#include <QBoxLayout>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QScrollArea>
#include <QSettings>
#include <QShowEvent>
#include <QTabBar>
#include <algorithm>
#include <utility>

#include "models/qt_text.h"
#include "run/recordings_folder.h"
#include "views/panels/link_button.h"
#include "window/start/machine_panel.h"
#include "window/start/mark_legend.h"
#include "window/start/recent_recordings.h"
#include "window/start/sample_list.h"
#include "window/start/script_lines.h"
#include "window/start/script_panel.h"
#include "window/start/start_block.h"

namespace highwater::window {
namespace {

/// Below this size the samples and explanations share one place, with tabs.
constexpr int kRoomyWidth = 1380, kRoomyHeight = 800;
/// Below this width the recordings stand under the form.
constexpr int kTwoColumns = 1160;
/// So long the page waits before it starts programs: a run may begin at once.
constexpr int kAskMs = 300;
constexpr int kMostOpened = 20;
const QLatin1String kOpenedKey("start/opened");

QVBoxLayout* column(QWidget* widget) {
  auto* layout = new QVBoxLayout(widget);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  return layout;
}

}  // namespace

StartPage::StartPage(session::LaunchOptions worker, Machine machine, QWidget* parent)
    : QWidget(parent), worker_(std::move(worker)), machine_(machine) {
  setObjectName(QStringLiteral("startPage"));
  auto* area = area_ = new QScrollArea(this);
  area->setObjectName(QStringLiteral("startArea"));
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setFocusPolicy(Qt::NoFocus);
  auto* content = new QWidget(area);
  columns_ = new QBoxLayout(QBoxLayout::LeftToRight, content);
  columns_->setContentsMargins(0, 0, 0, 0);
  columns_->setSpacing(0);
  columns_->addWidget(makeLeft(), 61);
  between_ = new SeparatorLine(Qt::Vertical, content);
  columns_->addWidget(between_);
  columns_->addWidget(makeRight(), 39);
  area->setWidget(content);
  column(this)->addWidget(area);
  askTimer_.setSingleShot(true);
  askTimer_.setInterval(kAskMs);
  connect(&askTimer_, &QTimer::timeout, this, &StartPage::askMachine);
  if (machine_ == Machine::kOn) {
    script_->restore(QSettings());
    connect(script_, &ScriptPanel::checked, this, &StartPage::saveForm);
  }
  layOut();
}

StartPage::~StartPage() = default;

QWidget* StartPage::makeLeft() {
  auto* left = new QWidget(this);
  auto* rows = column(left);
  auto* form = new StartBlock(tr("Run your own script"), left);
  form->setSubtitle(tr("The script need not change"));
  auto* demo = views::linkButton(tr("No script at hand? Train a sample"), "toSamplesButton", form);
  form->addToTitle(demo);
  connect(demo, &QToolButton::clicked, this, &StartPage::showSamples);
  script_ = new ScriptPanel(form);
  form->add(script_);
  rows->addWidget(form);
  connect(script_, &ScriptPanel::runRequested, this, &StartPage::runScriptRequested);
  connect(script_, &ScriptPanel::checked, this, [this] {
    const QString named = script_->fields().script.trimmed();
    if (std::exchange(namedScript_, named) != named) emit scriptEdited();
  });

  tabs_ = new QTabBar(left);
  tabs_->setObjectName(QStringLiteral("startTabs"));
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  rows->addWidget(tabs_);
  const auto addTab = [&](const QString& title, const QString& subtitle, QWidget* widget) {
    auto* block = new StartBlock(title, left);
    block->setSubtitle(subtitle);
    block->add(widget, 1);
    tabs_->addTab(title);
    tabbed_ << block;
    return block;
  };
  samples_ = new SampleList;
  rows->addWidget(addTab(tr("Or train a sample"),
                         tr("Small programs of Highwater's own, each to show one thing"),
                         samples_));
  connect(samples_, &SampleList::runRequested, this, &StartPage::runSampleRequested);
  connect(samples_, &SampleList::selected, this, &StartPage::sampleSelected);
  auto* explanations = new QWidget(left);
  auto* row = new QHBoxLayout(explanations);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(addTab(tr("Add to your script"), tr("optional"), new ScriptLines), 1);
  betweenExplanations_ = new SeparatorLine(Qt::Vertical, explanations);
  row->addWidget(betweenExplanations_);
  row->addWidget(addTab(tr("Marks in the timeline"), {}, new MarkLegend), 1);
  rows->addWidget(explanations, 1);
  connect(tabs_, &QTabBar::currentChanged, this, [this] { layOut(); });
  return left;
}

void StartPage::showSamples() {
  tabs_->setCurrentIndex(0);
  samples_->setFocus(Qt::OtherFocusReason);
  // Once the page is laid out with them.
  QTimer::singleShot(0, this, [this] { area_->ensureWidgetVisible(samples_, 0, 0); });
}

QWidget* StartPage::makeRight() {
  auto* right = new QWidget(this);
  auto* rows = column(right);
  auto* recordings = new StartBlock(tr("Recent recordings"), right);
  recent_ = new RecentRecordings;
  recordings->add(recent_, 1);
  rows->addWidget(recordings, 1);
  connect(recent_, &RecentRecordings::openRequested, this, &StartPage::openRecordingRequested);
  connect(recent_, &RecentRecordings::forgetRequested, this, [this](const QString& path) {
    QStringList files = openedFiles();
    files.removeAll(path);
    keepOpened(files);
    recent_->list(files);
  });
  connect(recent_, &RecentRecordings::renamed, this,
          [this](const QString& path, const QString& newPath) {
            QStringList files = openedFiles();
            std::replace(files.begin(), files.end(), path, newPath);
            keepOpened(files);
            recent_->list(files);
            emit recordingRenamed(path, newPath);
          });
  connect(recent_, &RecentRecordings::deleted, this, [this](const QString& path) {
    QStringList files = openedFiles();
    files.removeAll(path);
    keepOpened(files);
    recent_->list(files);
  });
  connect(recent_, &RecentRecordings::chooseRequested, this, &StartPage::chooseRecordingRequested);
  connect(recent_, &RecentRecordings::countChanged, this, [recordings](int count) {
    recordings->setSubtitle(count > 0 ? QString::number(count) : QString());
  });
  auto* machine = new StartBlock(tr("This machine"), right);
  machinePanel_ = new MachinePanel;
  machine->add(machinePanel_);
  rows->addWidget(machine);
  connect(script_, &ScriptPanel::interpreterAnswered, machinePanel_,
          &MachinePanel::showInterpreter);
  return right;
}

void StartPage::layOut() {
  const bool roomy = width() >= kRoomyWidth && height() >= kRoomyHeight;
  const bool twoColumns = width() >= kTwoColumns;
  columns_->setDirection(twoColumns ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  between_->setOrientation(twoColumns ? Qt::Vertical : Qt::Horizontal);
  tabs_->setVisible(!roomy);
  betweenExplanations_->setVisible(roomy);
  for (qsizetype i = 0; i < tabbed_.size(); ++i) {
    tabbed_[i]->setTitleShown(roomy);
    tabbed_[i]->setVisible(roomy || i == tabs_->currentIndex());
  }
}

bool StartPage::namesScript() const {
  return script_->namesScript();
}

QString StartPage::scriptName() const {
  return QFileInfo(script_->fields().script.trimmed()).fileName();
}

void StartPage::selectSample(const std::optional<QString>& scenario) {
  samples_->select(scenario);
}

void StartPage::runScript() {
  script_->run();
}

void StartPage::saveForm() const {
  QSettings settings;
  script_->save(settings);
}

QStringList StartPage::openedFiles() const {
  return machine_ == Machine::kOn ? QSettings().value(kOpenedKey).toStringList() : opened_;
}

QStringList StartPage::recentFiles(qsizetype most) const {
  QFileInfoList files =
      QDir(run::recordingsFolder()).entryInfoList({QStringLiteral("*.highwater")}, QDir::Files);
  for (const QString& each : openedFiles()) {
    const QFileInfo file(each);
    if (file.exists() && !files.contains(file)) files << file;
  }
  std::stable_sort(files.begin(), files.end(), [](const QFileInfo& a, const QFileInfo& b) {
    return a.lastModified() > b.lastModified();
  });
  QStringList paths;
  for (const QFileInfo& each : files.mid(0, most)) paths << each.absoluteFilePath();
  return paths;
}

void StartPage::noteOpened(const QString& path) {
  QStringList files = openedFiles();
  const QString file = QFileInfo(path).absoluteFilePath();
  files.removeAll(file);
  files.prepend(file);
  keepOpened(files.mid(0, kMostOpened));
  // A large one may be opened only when the user is back on the page.
  if (isVisible()) recent_->list(openedFiles());
}

void StartPage::keepOpened(const QStringList& files) {
  opened_ = files;
  if (machine_ == Machine::kOn) QSettings().setValue(kOpenedKey, files);
}

void StartPage::nameScript(const QString& path) {
  script_->nameScript(path);
}

void StartPage::showDrag(bool dragged) {
  recent_->showDrag(dragged);
}

void StartPage::showProblem(const QString& problem) {
  recent_->showProblem(problem);
}

void StartPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (event->spontaneous()) return;
  recent_->list(openedFiles());
  machinePanel_->showRecordingsRoom();
  script_->refresh();
  if (machine_ == Machine::kOn) askTimer_.start();
}

void StartPage::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  if (event->spontaneous()) return;
  askTimer_.stop();
  query_.reset();
  script_->setAsksPython(false);
  recent_->stopReading();
}

void StartPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  layOut();
}

void StartPage::askMachine() {
  script_->setAsksPython(true);
  if (asked_) return;
  query_ = std::make_unique<session::WorkerQuery>(worker_);
  connect(query_.get(), &session::WorkerQuery::answered, this, [this] {
    asked_ = true;
    const auto hello = query_->answer();
    if (!hello) return machinePanel_->showWorkerProblem(hello.error());
    machinePanel_->showWorker(*hello);
    if (hello->device.simulated) {
      script_->setSimulatedMemory(bytesText(static_cast<double>(hello->limits.recommendedBytes)));
    }
  });
  query_->start();
}

}  // namespace highwater::window
