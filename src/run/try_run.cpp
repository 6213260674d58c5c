#include "run/try_run.h"

#include <algorithm>
#include <utility>

#include "core/units.h"
#include "run/note.h"

namespace highwater::run {

using session::Session;

namespace {
constexpr std::size_t kBlocksOfRound = 4;
}  // namespace

std::size_t TryRun::blocks() const {
  return (change_.knob.empty() ? 0 : analysis::kFirstBlocksOfKnob) + rounds_ * kBlocksOfRound;
}

/// Whether the blocks so far leave open if there is a gain worth having.
bool TryRun::mayHideGain() const {
  const std::vector<analysis::TriedBlock> blocks = analysis::lastTriedBlocksOf(*store_);
  const auto fix = analysis::triedFixOf(change_, blocks);
  return fix ? analysis::mayHideGain(*fix) : !blocks.empty();
}

/// A B B A: what changes slowly, as the machine's temperature, cancels.
bool TryRun::isChanged(std::size_t block) const {
  if (!change_.knob.empty()) {
    if (block < analysis::kFirstBlocksOfKnob) return block > 0;
    block -= analysis::kFirstBlocksOfKnob;
  }
  const std::size_t place = block % kBlocksOfRound;
  return place == 1 || place == 2;
}

TryRun::TryRun(Session* session, const analysis::LiveStore* store, TryRunOptions options,
               QObject* parent)
    : QObject(parent),
      session_(session),
      store_(store),
      options_(options),
      rounds_(options.rounds) {
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
  callSites_ = analysis::triedSitesOf(*store_, finding);
  if (callSites_.empty()) return failure("the line that waits is not known");
  change_ = {.line = finding.line};
  return begin();
}

Result<void> TryRun::startWithKnob(const std::string& knob, const std::string& value) {
  if (session_->state() != Session::State::kRunning) {
    return failure("a knob is tried while the training goes on");
  }
  auto tried = triedKnobOf(*store_, knob, value);
  if (!tried) return tried.error();
  knob_ = std::move(*tried);
  change_ = {.knob = knob, .value = knob_.text};
  return begin();
}

Result<void> TryRun::begin() {
  const auto note =
      makeNote(store_->completeUpToNs(), store_->runningStep(), analysis::noteOfTry(change_));
  if (!note) return note.error();
  if (!session_->addNote(*note)) return failure("the script has not begun to train yet");
  markersRead_ = store_->markers().size();
  phase_ = Phase::kMeasuring;
  request(0);
  return {};
}

void TryRun::interrupt() {
  if (!isRunning() || asked_ > blocks()) return;
  asked_ = blocks() + 1;
  session_->request(block(TryBlock::Part::kOver));
}

std::string TryRun::text() const {
  if (!result_) return change_.text() + " was not tried: " + problem_;
  return analysis::resultText(*result_) + (problem_.empty() ? "" : "; " + problem_);
}

double TryRun::progress() const {
  const auto all = static_cast<double>(blocks());
  const std::size_t done = begun_ > 0 ? begun_ - 1 : 0;
  return std::min(1.0, static_cast<double>(done) / all);
}

/// Whether the knob of a script has the value that is tried.
bool TryRun::tookKnob() const {
  const ScriptKnob* const knob = store_->scriptKnob(change_.knob);
  return !knob || knob->value == knob_.value;
}

/// Asks for the block of that number, or for the end of the try.
void TryRun::request(std::size_t number) {
  if (number == blocks() && rounds_ < 2 * options_.rounds && mayHideGain()) ++rounds_;
  asked_ = number + 1;
  const bool isOver = number == blocks();
  session_->request(block(isOver              ? TryBlock::Part::kOver
                          : isChanged(number) ? TryBlock::Part::kChanged
                                              : TryBlock::Part::kAsItWas));
}

TryBlock TryRun::block(TryBlock::Part part) const {
  const bool isOver = part == TryBlock::Part::kOver, changed = part == TryBlock::Part::kChanged;
  return {part, isOver ? std::vector<CallSiteId>() : callSites_, change_.knob,
          changed ? knob_.value : knob_.before};
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
    if (!change_.knob.empty() && store_->isStepOutOfMemory(marker)) {
      return finish("a step ran out of memory meanwhile");
    }
    if (marker.kind() != events::MarkerKind::Note) continue;
    const std::string text = store_->name(marker.text());
    if (text == kTriedEnough) return finish({});
    if (!text.starts_with(kTryBlockPrefix)) continue;
    ++begun_;
    current_ = marker;
    emit changed();
  }
  if (!current_ || begun_ != asked_ || !isBlockLongEnough(*current_)) return;
  if (begun_ <= blocks() && isChanged(begun_ - 1) && !tookKnob()) {
    return finish("the script has not taken the value within a block: it has to call " +
                  ("highwater.knob(\"" + change_.knob + "\", ...)") + " in each step");
  }
  request(begun_);
}

void TryRun::onAnswer(const CommandAnswer& answer) {
  if (!isRunning() || answer.accepted) return;
  if (std::holds_alternative<TryBlock>(answer.command)) finish(answer.reason);
}

void TryRun::onEnded() {
  if (isRunning()) {
    finish("the run ended before the try did, which takes at least 120 steps and 5 s");
  }
}

void TryRun::finish(std::string problem) {
  const bool isLive =
      session_->state() == Session::State::kRunning || session_->state() == Session::State::kPaused;
  phase_ = Phase::kFinished;
  if (isLive && asked_ <= blocks()) session_->request(block(TryBlock::Part::kOver));
  // One that was cut short has what its blocks tell, as the recording will say.
  const std::vector<analysis::TriedBlock> seen = analysis::lastTriedBlocksOf(*store_);
  result_ = analysis::triedFixOf(change_, seen);
  problem_ = std::move(problem);
  if (!result_ && problem_.empty()) {
    const bool wasDisturbed =
        std::any_of(seen.begin(), seen.end(),
                    [](const analysis::TriedBlock& each) { return each.isDisturbed; });
    problem_ = wasDisturbed
                   ? "evaluations, checkpoints or starts of workers lay in nearly all blocks"
               : change_.knob.empty()
                   ? "too few steps were measured, or the script waited though it was not to, as "
                     "for a value that has another size each time"
                   : "too few steps were measured, or the script did not take the knob's value "
                     "with its next step";
  }
  emit finished();
}

}  // namespace highwater::run
