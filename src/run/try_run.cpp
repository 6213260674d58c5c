#include "run/try_run.h"

#include <algorithm>
#include <utility>

#include "core/units.h"
#include "run/note.h"

namespace highwater::run {

using session::Session;

namespace {

constexpr std::size_t kBlocksOfRound = 4;

/// A B B A: what changes slowly, as the machine's temperature, cancels.
bool leavesOut(std::size_t block) {
  const std::size_t place = block % kBlocksOfRound;
  return place == 1 || place == 2;
}

}  // namespace

TryRun::TryRun(Session* session, const analysis::LiveStore* store, TryRunOptions options,
               QObject* parent)
    : QObject(parent), session_(session), store_(store), options_(options) {
  connect(session_, &Session::received, this, &TryRun::onReceived);
  connect(session_, &Session::commandAnswered, this, &TryRun::onAnswer);
  connect(session_, &Session::ended, this, &TryRun::onEnded);
}

Result<void> TryRun::start(const analysis::Finding& finding) {
  if (session_->state() != Session::State::kRunning) {
    return failure("a fix is tried while the script trains");
  }
  if (std::string why = analysis::whyNotTried(*store_, finding); !why.empty()) {
    return failure(std::move(why));
  }
  line_ = finding.line;
  callSites_ = analysis::triedSitesOf(*store_, finding);
  const auto note =
      makeNote(store_->completeUpToNs(), store_->runningStep(), analysis::noteOfTry(line_));
  if (!note) return note.error();
  if (!session_->addNote(*note)) return failure("the script has not begun to train yet");
  markersRead_ = store_->markers().size();
  phase_ = Phase::kMeasuring;
  request(0);
  return {};
}

void TryRun::interrupt() {
  if (!isRunning() || asked_ > options_.rounds * kBlocksOfRound) return;
  asked_ = options_.rounds * kBlocksOfRound + 1;
  session_->request(TryWaits{});
}

double TryRun::progress() const {
  const auto all = static_cast<double>(options_.rounds * kBlocksOfRound);
  const std::size_t done = begun_ > 0 ? begun_ - 1 : 0;
  return std::min(1.0, static_cast<double>(done) / all);
}

/// Asks for the block of that number, or for the end of the try.
void TryRun::request(std::size_t block) {
  asked_ = block + 1;
  if (block == options_.rounds * kBlocksOfRound) {
    session_->request(TryWaits{});
  } else {
    session_->request(TryWaits{callSites_, leavesOut(block)});
  }
}

bool TryRun::isBlockLongEnough(const events::Marker& begin) const {
  const auto& records = store_->steps().records;
  if (records.empty() || records.back().step() < begin.step() + options_.leastSteps) return false;
  const events::StepRecord& last = records.back();
  return toMs(last.begin_ns() + last.duration_ns() - begin.time_ns()) >=
         1000 * options_.leastSeconds;
}

void TryRun::onReceived() {
  if (!isRunning()) return;
  const auto& markers = store_->markers();
  for (; markersRead_ < markers.size(); ++markersRead_) {
    const events::Marker& marker = markers[markersRead_];
    if (marker.kind() != events::MarkerKind::Note) continue;
    const std::string text = store_->name(marker.text());
    if (text == kTriedEnough) return finish({});
    if (text != kTriesWith && text != kTriesWithout) continue;
    ++begun_;
    current_ = marker;
    emit changed();
  }
  if (current_ && begun_ == asked_ && isBlockLongEnough(*current_)) request(begun_);
}

void TryRun::onAnswer(const CommandAnswer& answer) {
  if (!isRunning() || answer.accepted) return;
  if (std::holds_alternative<TryWaits>(answer.command)) finish(answer.reason);
}

void TryRun::onEnded() {
  if (isRunning()) finish("the run ended before the try did");
}

void TryRun::finish(std::string problem) {
  const bool isLive =
      session_->state() == Session::State::kRunning || session_->state() == Session::State::kPaused;
  phase_ = Phase::kFinished;
  if (isLive && !problem.empty()) session_->request(TryWaits{});
  // One that was cut short has what its blocks tell, as the recording will say.
  result_ = analysis::triedFixOf(line_, analysis::lastTriedBlocksOf(*store_));
  if (!result_) {
    problem_ = problem.empty() ? "too few steps were measured, or the script waited though it was "
                                 "not to, as for a value that has another size each time"
                               : std::move(problem);
  }
  emit finished();
}

}  // namespace highwater::run
