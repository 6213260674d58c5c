#include "window/start/machine_panel.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QStorageInfo>
#include <QStyle>

#include "core/units.h"
#include "models/qt_text.h"
#include "run/recordings_folder.h"
#include "views/panels/cut_label.h"

namespace highwater::window {
namespace {

constexpr int kMachineRow = 22;
constexpr qint64 kLittleRoom = qint64{1} << 30;

/// The nearest folder of a path that exists.
QString existing(QString path) {
  while (!QFileInfo::exists(path) && path.contains(u'/')) path = QFileInfo(path).path();
  return path;
}

QString limit(double ratio, std::uint64_t recommended) {
  return ratio <= 0 ? MachinePanel::tr("no limit")
                    : bytesText(ratio * static_cast<double>(recommended));
}

}  // namespace

MachinePanel::MachinePanel(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("machinePanel"));
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(12, 10, 12, 10);
  grid->setHorizontalSpacing(12);
  grid->setVerticalSpacing(0);
  grid->setColumnMinimumWidth(0, 88);
  grid->setColumnStretch(2, 1);
  addRow(grid, Fact::kDevice, tr("Device"));
  addRow(grid, Fact::kMemory, tr("Memory"));
  addRow(grid, Fact::kHighwaterTorch, tr("Samples"));
  addRow(grid, Fact::kPython, tr("Python"));
  addRow(grid, Fact::kTorch, tr("PyTorch"));
  addRow(grid, Fact::kProbe, tr("Probe"));
  addRow(grid, Fact::kRecordings, tr("Recordings"));
  grid->setRowStretch(grid->rowCount(), 1);
  show(Fact::kDevice, tr("…"), {});
}

void MachinePanel::addRow(QGridLayout* grid, Fact fact, const QString& name) {
  const int row = grid->rowCount();
  auto* label = new QLabel(name, this);
  label->setProperty("kind", "quiet");
  auto* note = new views::CutLabel(this);
  const bool path = fact == Fact::kPython || fact == Fact::kRecordings;
  note->setElideMode(path ? Qt::ElideMiddle : Qt::ElideRight);
  const Row made{new QLabel(QStringLiteral("–"), this), note};
  made.value->setProperty("kind", "value");
  made.note->setProperty("kind", "note");
  made.note->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  for (QLabel* each : {made.value, made.note}) {
    each->setTextFormat(Qt::PlainText);
  }
  grid->addWidget(label, row, 0);
  grid->addWidget(made.value, row, 1);
  grid->addWidget(made.note, row, 2);
  grid->setRowMinimumHeight(row, kMachineRow);
  rows_.emplace(fact, made);
}

void MachinePanel::show(Fact fact, const QString& value, const QString& note, bool wrong) {
  const Row& row = rows_.at(fact);
  row.value->setText(value);
  row.note->setText(note);
  row.note->setProperty("kind", wrong ? "wrong" : "note");
  style()->unpolish(row.note);
  style()->polish(row.note);
}

void MachinePanel::showWorker(const Hello& hello) {
  const DeviceReport& device = hello.device;
  show(Fact::kDevice, text(device.selected) + (device.simulated ? tr(", simulated") : QString()),
       device.simulated ? tr("No Apple GPU: times and memory are simulated") : text(device.reason));
  const MemoryLimits& limits = hello.limits;
  if (limits.recommendedBytes > 0) {
    show(Fact::kMemory,
         tr("%1 recommended").arg(bytesText(static_cast<double>(limits.recommendedBytes))),
         tr("Watermarks: low %1, high %2")
             .arg(limit(limits.lowWatermarkRatio, limits.recommendedBytes),
                  limit(limits.highWatermarkRatio, limits.recommendedBytes)));
  } else {
    show(Fact::kMemory, bytesText(static_cast<double>(limits.systemBytes)),
         tr("Of the machine: the CPU has no device memory"));
  }
  show(Fact::kHighwaterTorch, tr("PyTorch %1").arg(text(hello.torchVersion)),
       tr("Which Highwater trains the samples with"));
}

void MachinePanel::showWorkerProblem(const Error& problem) {
  if (problem.code == ErrorCode::kVersionMismatch) {
    // A wheel without a PyTorch for the samples. Nothing is wrong for whoever has a script.
    show(Fact::kDevice, tr("–"), tr("Known once a script trains"));
    return show(Fact::kHighwaterTorch, tr("no PyTorch"), text(problem.message));
  }
  show(Fact::kDevice, tr("not known"), text(problem.message), true);
}

void MachinePanel::showInterpreter(const InterpreterAnswer& answer) {
  const bool none = answer.version.isEmpty();
  // What is wrong with it stands beside its field.
  show(Fact::kPython, none ? QStringLiteral("–") : answer.version,
       none ? QString() : run::shownPath(answer.program));
  const bool torch = !answer.torch.isEmpty();
  show(Fact::kTorch, torch ? answer.torch : QStringLiteral("–"),
       torch ? tr("Of this Python") : QString());
  if (!torch) {
    show(Fact::kProbe, QStringLiteral("–"), {});
  } else if (!answer.problem.isEmpty()) {
    show(Fact::kProbe, tr("cannot be built"), {});
  } else {
    show(Fact::kProbe, answer.probeReady ? tr("ready") : tr("not built yet"),
         answer.probeReady ? tr("There is a library for this PyTorch")
                           : tr("Built once, at the first run, in 15 to 30 s"));
  }
}

void MachinePanel::showRecordingsRoom() {
  const QStorageInfo storage(existing(run::recordingsFolder()));
  const qint64 free = storage.bytesAvailable();
  show(Fact::kRecordings,
       free < 0 ? QStringLiteral("–") : tr("%1 free").arg(bytesText(static_cast<double>(free))),
       tr("In %1").arg(run::shownPath(run::recordingsFolder())), free >= 0 && free < kLittleRoom);
}

}  // namespace highwater::window
