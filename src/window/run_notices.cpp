#include "window/run_notices.h"

#include "models/log_model.h"
#include "models/qt_text.h"
#include "run/run.h"
#include "session/option_names.h"
#include "session/run_end.h"
#include "session/training_position.h"
#include "views/panels/banner.h"
#include "window/retry_setting.h"

namespace highwater::window {

using views::Banner;

namespace {

/// The session's texts begin in lower case.
QString asSentence(const QString& message) {
  return message.left(1).toUpper() + message.mid(1);
}

}  // namespace

RunNotices::RunNotices(views::Banner* banner, models::LogModel* log, run::Run* run, QObject* parent)
    : QObject(parent), banner_(banner), log_(log), run_(run) {
  connect(run_, &run::Run::stalled, this, &RunNotices::showStall);
  connect(run_, &run::Run::stallEnded, this, &RunNotices::hideStall);
  connect(run_, &run::Run::ended, this, &RunNotices::showEnd);
  connect(run_, &run::Run::problem, this, &RunNotices::showProblem);
  connect(run_, &run::Run::continued, this, &RunNotices::showNote);
  connect(run_, &run::Run::runReplaced, this, [this] { replacedShown_.clear(); });
  connect(banner_, &views::Banner::actionTriggered, this, &RunNotices::act);
}

void RunNotices::showStall(const QString& message) {
  stallShown_ = asSentence(message);
  log_->append(stallShown_, models::LogModel::Kind::kProblem);
  banner_->showMessage(stallShown_, false, Banner::Kind::kProblem, tr("Stop"));
}

void RunNotices::updateStall() {
  const auto open = run_->store().openSpan();
  const bool dismissed = banner_->isHidden() || banner_->message() != stallShown_;
  if (stallShown_.isEmpty() || dismissed || !open) {
    return;
  }
  const events::OpenSpan& span = open->span;
  const QString now = session::stallText(
      {span.step(), span.phase(), run_->store().name(span.name()), open->stalledFor});
  stallShown_ = asSentence(now);
  const bool stopping = run_->state() == session::Session::State::kStopping;
  banner_->showMessage(stallShown_, false, Banner::Kind::kProblem,
                       stopping ? QString() : tr("Stop"));
}

void RunNotices::tellRecoveries() {
  const auto& markers = run_->store().markers();
  if (markers.size() < seenMarkers_) seenMarkers_ = 0;  // another run
  for (; seenMarkers_ < markers.size(); ++seenMarkers_) {
    const events::Marker& marker = markers[seenMarkers_];
    if (marker.kind() != events::MarkerKind::Recovered || !run_->live()) continue;
    const QString batch = QString::number(marker.value_after(), 'f', 0);
    banner_->showMessage(
        marker.value_after() < marker.value_before()
            ? tr("Step %1 ran out of memory. It was dropped, and the training goes on with batch "
                 "size %2 instead of %3")
                  .arg(QString::number(marker.step()), batch,
                       QString::number(marker.value_before(), 'f', 0))
            : tr("Step %1 ran out of memory. It was dropped and trained again with batch size %2")
                  .arg(QString::number(marker.step()), batch),
        false, Banner::Kind::kNote, {});
  }
}

void RunNotices::hideStall() {
  if (!stallShown_.isEmpty() && banner_->message() == stallShown_) {
    banner_->hide();
  }
  stallShown_.clear();
}

void RunNotices::act() {
  if (closing_) {
    emit closeNowRequested();
  } else if (!replacedShown_.isEmpty() && banner_->message() == replacedShown_) {
    emit reloadRequested();
  } else if (run_->live()) {
    banner_->showMessage(banner_->message(), false, Banner::Kind::kProblem, {});
    run_->stop();
  } else if (run_->continuation()) {
    emit continueRequested();
  } else {
    emit runAgainRequested();
  }
}

void RunNotices::showClosing() {
  closing_ = true;
  banner_->showMessage(tr("Stopping after this step, then the window closes…"), false,
                       Banner::Kind::kNote, tr("Close now"));
}

void RunNotices::showEnd(const RunEnd& end) {
  using Reason = RunEnd::Reason;
  const bool killed = end.reason == Reason::kStopped && end.signal != 0;
  // A script that ended well and of which nothing was seen needs a word.
  const bool isRecorded = !run_->script() || run_->store().hello();
  const bool asWished = session::endedAsPlanned(end);
  if (asWished && !killed && (isRecorded || end.reason == Reason::kStopped)) {
    return;
  }
  QString message = text(session::withOptionNames(end.message, run_->options().environment));
  if (!end.openOp.empty() && !message.contains(text(end.openOp))) {
    message += tr(" (in %1)").arg(text(end.openOp));
  }
  if (const analysis::LiveStore& store = run_->store(); ranOutOfMemory(store)) {
    // The advice to lift the limit, at the end of PyTorch's message, is left to the log.
    log_->append(message, models::LogModel::Kind::kProblem);
    const Knobs& knobs = store.knobs();
    const QString said = message.left(message.indexOf(QStringLiteral(" Use PYTORCH_")));
    message = store.ownScript() || knobs.batchSize == 0
                  ? tr("Out of memory in step %1: %2").arg(store.runningStep()).arg(said)
                  : tr("Out of memory in step %1, %2: %3")
                        .arg(store.runningStep())
                        .arg(settingText(knobs, {}), said);
  }
  QStringList lines = run_->lastLines();
  if (run_->showsFile()) {
    // What a live run printed is in the log already.
    lines = text(end.lastLines).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    for (const QString& line : lines) {
      log_->append(line, models::LogModel::Kind::kPrinted);
    }
  }
  if (const QString why = run_->whyNotContinued(); !why.isEmpty()) {
    message += tr("; not continued: %1").arg(why);
  }
  log_->append(message, models::LogModel::Kind::kProblem);
  banner_->showMessage(message, !lines.isEmpty(), Banner::Kind::kProblem,
                       run_->showsFile() ? QString() : againText());
}

QString RunNotices::againText() const {
  if (const auto& next = run_->continuation()) {
    const analysis::LiveStore& store = run_->store();
    const bool halved = store.run() && next->options.batchSize != store.knobs().batchSize;
    const QString how = halved ? tr(" with batch %1").arg(next->options.batchSize) : QString();
    return next->fromStep > 0 ? tr("Continue from step %1%2").arg(next->fromStep).arg(how)
                              : tr("Start again%1").arg(how);
  }
  const auto setting = settingAfterOutOfMemory(run_->store());
  return setting ? tr("Run again with %1").arg(settingText(*setting, run_->store().knobs()))
                 : tr("Run again");
}

void RunNotices::showProblem(const QString& message) {
  log_->append(message, models::LogModel::Kind::kProblem);
  banner_->showMessage(message, false, Banner::Kind::kProblem, {});
}

void RunNotices::showNote(const QString& what) {
  log_->append(what, models::LogModel::Kind::kMarker);
  banner_->showMessage(what, false, Banner::Kind::kNote, {});
}

void RunNotices::showReplaced(const QString& message) {
  if (message != replacedShown_) log_->append(message, models::LogModel::Kind::kProblem);
  replacedShown_ = message;
  banner_->showMessage(message, false, Banner::Kind::kProblem, tr("Reload"));
}

void RunNotices::showBeingWritten(const QString& message) {
  log_->append(message, models::LogModel::Kind::kNotice);
  banner_->showMessage(message, false, Banner::Kind::kNote, {});
}

}  // namespace highwater::window
