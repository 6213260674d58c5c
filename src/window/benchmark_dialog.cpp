#include "window/benchmark_dialog.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QGridLayout>
#include <QGuiApplication>
#include <QHeaderView>
#include <QJsonDocument>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>

#include "core/knobs.h"
#include "models/qt_text.h"
#include "models/saved_file.h"
#include "report/report_benchmark.h"
#include "run/run.h"
#include "views/panels/table_setup.h"
#include "views/tuning/benchmark_plot.h"
#include "window/benchmark_tables.h"
#include "window/start/form_rows.h"

namespace highwater::window {
namespace {

constexpr int kMargin = 16;
constexpr int kButtonRoom = 28;
constexpr int kRowHeight = 22, kHeadHeight = 24;

QLabel* makeLabel(const char* name, const char* kind = nullptr) {
  auto* label = new QLabel;
  label->setObjectName(QLatin1String(name));
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  if (kind) label->setProperty("kind", kind);
  return label;
}

QTableView* makeTable(QStandardItemModel* model, const char* name, const QString& accessible) {
  auto* table = new QTableView;
  table->setObjectName(QLatin1String(name));
  table->setAccessibleName(accessible);
  table->setModel(model);
  views::setUpTable(*table, kRowHeight, kHeadHeight);
  return table;
}

}  // namespace

BenchmarkDialog::BenchmarkDialog(run::Run* run, QWidget* parent) : QDialog(parent), run_(run) {
  setObjectName(QStringLiteral("benchmarkDialog"));
  setWindowTitle(tr("Compare CPU with MPS"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  column->setSpacing(8);
  makeForm();
  makeResults();
  makeButtons();
  connect(run_, &run::Run::stateChanged, this, &BenchmarkDialog::updateState);
  connect(run_, &run::Run::ended, this, &BenchmarkDialog::updateState);
  for (QCheckBox* box : {products_, step_, drift_}) {
    connect(box, &QCheckBox::toggled, this, &BenchmarkDialog::updateState);
  }
  connect(shapes_, &QLineEdit::textChanged, this, &BenchmarkDialog::updateState);
  setMinimumSize(620, 540);
  resize(760, 680);
  showResult();
  updateState();
}

BenchmarkDialog::~BenchmarkDialog() = default;

void BenchmarkDialog::showFor(run::Run* run, QWidget* parent) {
  auto* dialog = parent->findChild<BenchmarkDialog*>(QStringLiteral("benchmarkDialog"));
  if (!dialog) dialog = new BenchmarkDialog(run, parent);
  dialog->updateState();
  dialog->setVisible(true);
  dialog->raise();
  dialog->activateWindow();
}

void BenchmarkDialog::makeForm() {
  products_ = new QCheckBox(tr("Matrix products"));
  products_->setObjectName(QStringLiteral("benchmarkProducts"));
  step_ = new QCheckBox(tr("Training step of the model"));
  step_->setObjectName(QStringLiteral("benchmarkStep"));
  drift_ = new QCheckBox(tr("Numeric drift of the model"));
  drift_->setObjectName(QStringLiteral("benchmarkDrift"));
  for (QCheckBox* box : {products_, step_, drift_}) box->setChecked(true);
  shapes_ = new QLineEdit(QStringLiteral("1000x1000x1000"));
  shapes_->setObjectName(QStringLiteral("benchmarkShapes"));
  shapes_->setProperty("kind", "field");
  shapes_->setMinimumHeight(kFieldHeight);
  shapes_->setAccessibleName(tr("Shapes of the products, MxKxN, with commas"));
  shapes_->setToolTip(tr("Shapes MxKxN, with commas between them: 512x768x3072, 64x64x64"));
  type_ = new QComboBox;
  type_->setObjectName(QStringLiteral("benchmarkType"));
  type_->setAccessibleName(tr("Type of the products"));
  for (const char* type : {"float32", "bfloat16", "float16"}) type_->addItem(QLatin1String(type));
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(12);
  grid->setVerticalSpacing(6);
  grid->addWidget(products_, 0, 0);
  grid->addWidget(shapes_, 0, 1);
  grid->addWidget(type_, 0, 2);
  grid->addWidget(step_, 1, 0);
  grid->addWidget(drift_, 1, 1);
  grid->setColumnStretch(1, 1);
  auto* column = static_cast<QVBoxLayout*>(layout());
  column->addLayout(grid);
  message_ = makeLabel("benchmarkMessage");
  progress_ = new QProgressBar;
  progress_->setObjectName(QStringLiteral("benchmarkProgress"));
  progress_->setAccessibleName(tr("Progress of the benchmark"));
  progress_->setRange(0, 1000);
  progress_->setTextVisible(false);
  progress_->setFixedHeight(4);
  QSizePolicy policy = progress_->sizePolicy();
  policy.setRetainSizeWhenHidden(true);  // the results below must not jump
  progress_->setSizePolicy(policy);
  column->addWidget(message_);
  column->addWidget(progress_);
}

void BenchmarkDialog::makeResults() {
  auto* empty = makeLabel("benchmarkEmpty", "quiet");
  empty->setText(
      tr("Start to compare the CPU with the device of the next run. It takes a minute or two, "
         "longer for large models, and changes no recording."));
  empty->setAlignment(Qt::AlignCenter);
  heading_ = makeLabel("benchmarkHeading", "quiet");
  speed_ = makeLabel("benchmarkSpeed");
  driftText_ = makeLabel("benchmarkDriftText");
  plot_ = new views::BenchmarkPlot;
  auto* speedPage = new QWidget;
  auto* speedColumn = new QVBoxLayout(speedPage);
  speedColumn->setContentsMargins(0, 8, 0, 0);
  speedColumn->addWidget(plot_, 4);
  speedColumn->addWidget(makeTable(&times_, "benchmarkTimes", tr("Times of the cases")), 3);
  // Long sentences of many cases scroll.
  auto* sentences = new QScrollArea;
  sentences->setWidget(speed_);
  sentences->setWidgetResizable(true);
  sentences->setFrameShape(QFrame::NoFrame);
  speed_->setAlignment(Qt::AlignTop);
  speedColumn->addWidget(sentences, 3);
  auto* driftPage = new QWidget;
  auto* driftColumn = new QVBoxLayout(driftPage);
  driftColumn->setContentsMargins(0, 8, 0, 0);
  driftColumn->addWidget(driftText_);
  driftColumn->addWidget(
      makeTable(&modules_, "benchmarkModules", tr("Largest errors of the modules")), 1);
  auto* tabs = new QTabWidget;
  tabs->setObjectName(QStringLiteral("benchmarkTabs"));
  tabs->setDocumentMode(true);
  tabs->addTab(speedPage, tr("Speed"));
  tabs->addTab(driftPage, tr("Numeric drift"));
  auto* shown = new QWidget;
  auto* shownColumn = new QVBoxLayout(shown);
  shownColumn->setContentsMargins(0, 0, 0, 0);
  shownColumn->addWidget(heading_);
  shownColumn->addWidget(tabs, 1);
  results_ = new QStackedWidget;
  results_->addWidget(empty);
  results_->addWidget(shown);
  static_cast<QVBoxLayout*>(layout())->addWidget(results_, 1);
}

void BenchmarkDialog::makeButtons() {
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  buttons->button(QDialogButtonBox::Close)->setIcon({});
  buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);
  const auto add = [&](const QString& text, const char* name) {
    QPushButton* button = buttons->addButton(text, QDialogButtonBox::ActionRole);
    button->setObjectName(QLatin1String(name));
    button->setAutoDefault(false);
    button->setMinimumWidth(button->fontMetrics().horizontalAdvance(text) + kButtonRoom);
    return button;
  };
  startButton_ = add(tr("Start"), "benchmarkStart");
  startButton_->setDefault(true);
  copy_ = add(tr("Copy as text"), "benchmarkCopy");
  save_ = add(tr("Save JSON…"), "benchmarkSave");
  connect(startButton_, &QPushButton::clicked, this, &BenchmarkDialog::startOrCancel);
  connect(copy_, &QPushButton::clicked, this, [this] {
    QGuiApplication::clipboard()->setText(text(report::benchmarkText(benchmark_)));
  });
  connect(save_, &QPushButton::clicked, this, &BenchmarkDialog::save);
  connect(buttons, &QDialogButtonBox::rejected, this, &QWidget::close);
  layout()->addWidget(buttons);
}

Result<run::BenchmarkRunOptions> BenchmarkDialog::asked() const {
  run::BenchmarkRunOptions options;
  options.launch = run_->options();
  options.matmul = products_->isChecked();
  options.step = step_->isChecked();
  options.drift = drift_->isChecked();
  if (!options.matmul && !options.step && !options.drift) {
    return usageError("Nothing is chosen: choose at least one part to measure");
  }
  if (options.matmul) {
    for (const QString& shape : shapes_->text().split(u',')) {
      const auto read = parseMatmulShape("A shape", shape.trimmed().toStdString());
      if (!read) return read.error();
      options.shapes.push_back(*read);
    }
    options.dtypes = {precisionFromName(type_->currentText().toStdString())};
  }
  if (options.launch.device == "cpu") {
    return usageError(
        "The device of the next run is cpu, which leaves nothing to compare with: choose auto, mps "
        "or sim under Run > Device");
  }
  if (run_->live()) {
    return usageError("A training is running, and would share the device: stop it first");
  }
  return options;
}

void BenchmarkDialog::startOrCancel() {
  if (measuring_) {
    measuring_->cancel();
  } else {
    start();
  }
}

void BenchmarkDialog::start() {
  auto options = asked();
  if (!options) return updateState();
  measuring_ = std::make_unique<run::BenchmarkRun>(std::move(*options));
  connect(measuring_.get(), &run::BenchmarkRun::progressed, this,
          [this](const run::BenchmarkProgress& progress) {
            progress_->setValue(static_cast<int>(progress.done * 1000));
            say(tr("Measuring: %1").arg(progress.doing), false);
          });
  connect(measuring_.get(), &run::BenchmarkRun::measured, this, [this] {
    benchmark_ = measuring_->benchmark();
    showResult();
  });
  connect(measuring_.get(), &run::BenchmarkRun::ended, this, &BenchmarkDialog::finish,
          Qt::QueuedConnection);
  if (auto started = measuring_->start(); !started) {
    measuring_.reset();
    updateState();
    say(text(started.error().message), true);
    return;
  }
  benchmark_ = {};
  stopped_.clear();
  showResult();
  progress_->setValue(0);
  updateState();
  say(tr("Starting the worker…"), false);
}

void BenchmarkDialog::finish() {
  if (!measuring_) return;
  benchmark_ = measuring_->benchmark();
  const Result<void> outcome = measuring_->outcome();
  // It emits the signal that led here.
  measuring_.release()->deleteLater();
  stopped_ = outcome ? std::string() : outcome.error().message;
  showResult();
  updateState();
  if (!outcome) return say(text(stopped_), outcome.error().code != ErrorCode::kEnded);
  if (benchmark_.refused.empty()) return say(tr("Done."), false);
  QStringList refused;
  for (const tuning::RefusedCase& each : benchmark_.refused) {
    refused << tr("%1 was not measured: %2").arg(text(each.name), text(each.why));
  }
  say(refused.join(u'\n'), true);
}

void BenchmarkDialog::updateState() {
  const bool measures = isMeasuring();
  startButton_->setText(measures ? tr("Cancel") : tr("Start"));
  const auto options = asked();
  startButton_->setEnabled(measures || options);
  for (QWidget* each : std::initializer_list<QWidget*>{products_, step_, drift_}) {
    each->setEnabled(!measures);
  }
  shapes_->setEnabled(!measures && products_->isChecked());
  type_->setEnabled(!measures && products_->isChecked());
  progress_->setVisible(measures);
  const bool hasResult = !benchmark_.empty() && !measures;
  copy_->setEnabled(hasResult);
  save_->setEnabled(hasResult);
  if (measures) return;
  say(options ? QString() : text(options.error().message), !options);
}

void BenchmarkDialog::setBenchmark(const tuning::Benchmark& benchmark) {
  benchmark_ = benchmark;
  showResult();
  updateState();
}

void BenchmarkDialog::showResult() {
  const bool isEmpty = benchmark_.timings.empty() && !benchmark_.drift;
  results_->setCurrentIndex(isEmpty ? 0 : 1);
  heading_->setText(text(report::benchmarkHeading(benchmark_)));
  plot_->setBenchmark(benchmark_);
  plot_->setVisible(!benchmark_.timings.empty());
  fillTimes(times_, benchmark_);
  fillModules(modules_, benchmark_);
  for (const char* name : {"benchmarkTimes", "benchmarkModules"}) {
    auto* table = findChild<QTableView*>(QLatin1String(name));
    if (!table) continue;
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  }
  QStringList sentences;
  for (const tuning::BenchmarkTiming& timing : benchmark_.timings) {
    sentences << QStringLiteral("%1: %2 %3")
                     .arg(text(timing.name), text(report::speedSentence(benchmark_, timing)),
                          text(report::naiveSentence(timing)))
                     .trimmed();
  }
  speed_->setText(sentences.isEmpty() ? tr("No time is measured yet.")
                                      : sentences.join(QStringLiteral("\n\n")));
  driftText_->setText(benchmark_.drift ? text(report::driftSentence(benchmark_))
                                       : tr("No drift is measured yet."));
}

void BenchmarkDialog::say(const QString& message, bool isProblem) {
  message_->setProperty("kind", isProblem ? "problem" : "quiet");
  message_->setStyleSheet({});  // applies the window's style sheet to the new kind
  message_->setText(message);
}

void BenchmarkDialog::save() {
  const QString name = QFileDialog::getSaveFileName(
      this, tr("Save JSON"), QStringLiteral("benchmark.json"), tr("JSON files (*.json)"));
  if (name.isEmpty()) return;
  const QByteArray bytes = QJsonDocument(report::benchmarkJson(benchmark_, stopped_)).toJson();
  if (auto saved = models::saveFile(name, bytes); !saved) {
    const QString why = QString::fromStdString(saved.error().message);
    return say(tr("%1; choose another name").arg(why), true);
  }
  say(tr("Saved as %1.").arg(name), false);
}

/// A benchmark that nobody sees any more would only slow down what comes next.
void BenchmarkDialog::done(int result) {
  if (measuring_) measuring_->cancel();
  QDialog::done(result);
}

}  // namespace highwater::window
