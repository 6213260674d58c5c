#include "window/run_status_bar.h"

#include <QLabel>
#include <QLayout>
#include <algorithm>

#include "analysis/run_end_text.h"
#include "core/names.h"
#include "core/units.h"
#include "models/plain_tip.h"
#include "run/run.h"

namespace highwater::window {

using session::Session;

namespace {

/// The most pixels of a recording's name, in a small window and in a large one.
constexpr int kSmallName = 140, kLongName = 400;
constexpr int kBetween = 8, kBarInset = 44;  ///< beside each field, and of the bar

/// Memory samples per second over the last five seconds; 0 if there are none yet.
double samplesPerSecond(const analysis::LiveStore& store) {
  const auto& times = store.memory().timesNs;
  if (times.size() < 2) {
    return 0;
  }
  const auto first = std::lower_bound(times.begin(), times.end(), times.back() - 5'000'000'000);
  const double seconds = static_cast<double>(times.back() - *first) / kNsPerS;
  return seconds > 0 ? static_cast<double>(times.end() - first - 1) / seconds : 0;
}

QString endText(const RunEnd& end) {
  if (const std::string exit = analysis::processExitText(end); !exit.empty()) {
    const QString how = QString::fromStdString(exit);
    return end.signal != 0 ? RunStatusBar::tr("Killed by %1").arg(how)
                           : RunStatusBar::tr("Ended with %1").arg(how);
  }
  switch (end.reason) {
    case RunEnd::Reason::kFinished:
      return RunStatusBar::tr("Finished");
    case RunEnd::Reason::kStopped:
      return RunStatusBar::tr("Stopped");
    case RunEnd::Reason::kFailed:
      return RunStatusBar::tr("Failed");
    case RunEnd::Reason::kCrashed:
      return RunStatusBar::tr("Crashed");
    case RunEnd::Reason::kExited:
      return RunStatusBar::tr("Ended early");
    case RunEnd::Reason::kHung:
      return RunStatusBar::tr("Stopped responding; run ended");
    case RunEnd::Reason::kProtocolViolation:
      return RunStatusBar::tr("Sent invalid data; run ended");
    case RunEnd::Reason::kAborted:
      return RunStatusBar::tr("Ended by Highwater");
  }
  return {};
}

}  // namespace

QString stateText(const run::Run& run) {
  const analysis::LiveStore& store = run.store();
  const auto& steps = store.steps().records;
  const std::uint32_t last = steps.empty() ? 0 : steps.back().step();
  const auto withStep = [&](const QString& state, std::uint32_t step) {
    return step > 0 ? RunStatusBar::tr("%1, step %2").arg(state).arg(step) : state;
  };
  switch (run.state()) {
    case Session::State::kStarting:
      return RunStatusBar::tr("Starting");
    case Session::State::kRunning: {
      const QString running =
          withStep(run.sweeps() ? RunStatusBar::tr("Sweeping") : RunStatusBar::tr("Running"),
                   std::max(store.runningStep(), last));
      return store.run() && store.run()->plannedSteps > 0
                 ? RunStatusBar::tr("%1 of %2").arg(running).arg(store.run()->plannedSteps)
                 : running;
    }
    case Session::State::kPaused:
      // A sweep pauses the run while it decides what to measure next.
      return withStep(run.sweeps() ? RunStatusBar::tr("Sweeping") : RunStatusBar::tr("Paused"),
                      last);
    case Session::State::kStopping:
      return run.mayKill()
                 ? withStep(RunStatusBar::tr("Ctrl+C has not stopped the script; Kill… does"), last)
                 : withStep(RunStatusBar::tr("Stopping"), last);
    case Session::State::kIdle:
    case Session::State::kEnded:
      break;
  }
  const bool planned = store.run() && store.run()->plannedSteps > 0;
  if (store.end() && store.end()->reason == RunEnd::Reason::kFinished && planned) {
    return RunStatusBar::tr("Ended after %1 steps, as chosen").arg(last);
  }
  if (store.end()) {
    return withStep(endText(*store.end()), last);
  }
  if (!run.showsFile()) {
    return RunStatusBar::tr("Ready");
  }
  return withStep(run.condition().beingWritten ? RunStatusBar::tr("Still being written, following")
                                               : RunStatusBar::tr("Cut off"),
                  last);
}

RunStatusBar::RunStatusBar(QWidget* parent) : QStatusBar(parent) {
  setSizeGripEnabled(false);
  setContentsMargins(8, 0, 12, 0);
  state_ = addField("statusState");
  drops_ = addField("statusDrops");
  file_ = addField("statusRecording");
  simulated_ = new QLabel(this);
  simulated_->setObjectName(QStringLiteral("statusSimulated"));
  addPermanentWidget(simulated_);
  // What arrived, went or no longer fits meanwhile.
  connect(this, &QStatusBar::messageChanged, this, [this](const QString& message) {
    if (!message.isEmpty()) return;
    state_->setVisible(!state_->text().isEmpty());
    fit();
  });
}

QLabel* RunStatusBar::addField(const char* name) {
  auto* label = new QLabel(this);
  label->setObjectName(QLatin1String(name));
  label->setTextFormat(Qt::PlainText);
  label->setContentsMargins(4, 0, 12, 0);
  label->setMinimumWidth(1);  // no text may keep the window from shrinking
  addWidget(label);
  return label;
}

void RunStatusBar::put(QLabel* label, const QString& text, const QString& tip) {
  // While a message is shown the bar has hidden its fields, and shows them again itself.
  if (label == simulated_ || currentMessage().isEmpty()) label->setVisible(!text.isEmpty());
  if (label->text() != text) {
    label->setText(text);
  }
  label->setToolTip(models::plainTip(tip));
}

void RunStatusBar::setSmall(bool small) {
  small_ = small;
}

void RunStatusBar::setReplaced(bool replaced) {
  replaced_ = replaced;
}

void RunStatusBar::refresh(const run::Run& run) {
  const analysis::LiveStore& store = run.store();
  QStringList facts;
  if (store.hello()) {
    facts << tr("%L1 events").arg(store.eventCount());
    const double rate = samplesPerSecond(store);
    if (rate > 0) facts << tr("%1 memory samples/s in the last five seconds").arg(rate, 0, 'f', 0);
    facts << tr("PyTorch %1").arg(QString::fromStdString(store.hello()->torchVersion));
  }
  put(state_, replaced_ ? tr("%1, replaced on disk").arg(stateText(run)) : stateText(run),
      facts.join(QLatin1Char('\n')));
  QStringList kinds;
  for (const auto& [kind, count] : store.droppedByKind()) {
    kinds << tr("%L1 %2").arg(count).arg(QString::fromUtf8(eventKindName(kind).data()));
  }
  put(drops_, store.dropped() > 0 ? tr("%L1 events dropped").arg(store.dropped()) : QString(),
      kinds.join(QLatin1Char('\n')));
  const QString path = QString::fromStdString(run.recordingPath().string());
  put(file_,
      path.isEmpty()
          ? QString()
          : tr("%1, %2").arg(fontMetrics().elidedText(
                                 QString::fromStdString(run.recordingPath().filename().string()),
                                 Qt::ElideMiddle, small_ ? kSmallName : kLongName),
                             QString::fromStdString(formatBytes(run.recordingBytes()))),
      path);
  put(simulated_, store.simulated() ? (small_ ? tr("simulated device")
                                              : tr("Times and memory come from a simulated device"))
                                    : QString());
  fit();
}

void RunStatusBar::resizeEvent(QResizeEvent* event) {
  QStatusBar::resizeEvent(event);
  fit();
}

void RunStatusBar::fit() {
  if (!currentMessage().isEmpty()) return;
  QLabel* const inOrder[] = {file_, drops_};
  const auto widthOf = [](const QLabel* label) {
    return label->text().isEmpty() ? 0 : label->sizeHint().width() + kBetween;
  };
  int needed = kBarInset + widthOf(state_) + widthOf(simulated_);
  for (const QLabel* label : inOrder) needed += widthOf(label);
  for (QLabel* label : inOrder) {
    const bool fits = needed <= width();
    label->setVisible(fits && !label->text().isEmpty());
    needed -= fits ? 0 : widthOf(label);
  }
  if (layout() != nullptr) layout()->activate();  // a picture is drawn before the next event
}

}  // namespace highwater::window
