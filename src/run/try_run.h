#pragma once

#include <QObject>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/findings.h"
#include "analysis/live_store.h"
#include "analysis/tried_fix.h"
#include "core/command_answer.h"
#include "core/ids.h"
#include "core/result.h"
#include "run/tried_knob.h"
#include "session/session.h"

namespace highwater::run {

/// How long a try is.
struct TryRunOptions {
  /// Of four blocks, A B B A: as it is, changed, changed, as it is. A knob has two blocks before
  /// them, A B, which are not compared. Up to twice as many where steps vary so much by chance that
  /// a gain may be hidden.
  std::size_t rounds = 3;
  /// Each block has so many steps at least, and takes so long.
  std::uint32_t leastSteps = 10;
  double leastSeconds = 0.4;
};

/// Measures in a live run what a change would gain, which some blocks of steps have and others have
/// not, in turns. Of a script's finding about waits, these are left out: values that it reads there
/// lag meanwhile; what it trains does not change where it only prints them. Or a knob has another
/// value, and what is trained meanwhile is another training. Afterwards everything is as before,
/// and the recording has what was measured (analysis::triedFixesOf()). Use it on the session's
/// thread.
class TryRun final : public QObject {
  Q_OBJECT

 public:
  /// `session` and `store`, its sink, are not owned and must outlive this object.
  TryRun(session::Session* session, const analysis::LiveStore* store, TryRunOptions options = {},
         QObject* parent = nullptr);

  /// Begins. Call one of both, once. Fails with kFailed where nothing trains, whyNotTried() has a
  /// reason, or triedKnobOf() fails; then finished() does not follow.
  [[nodiscard]] Result<void> start(const analysis::Finding& finding);
  [[nodiscard]] Result<void> startWithKnob(const std::string& knob, const std::string& value);
  /// Ends the try, at the end of the script's step. Blocks so far stay in the recording.
  void interrupt();

  [[nodiscard]] bool isRunning() const { return phase_ == Phase::kMeasuring; }
  /// What is tried.
  [[nodiscard]] const analysis::TriedChange& change() const { return change_; }
  /// The share of the blocks that were measured, 0 to 1.
  [[nodiscard]] double progress() const;
  /// What was measured; std::nullopt while it runs, and where too few blocks were.
  [[nodiscard]] const std::optional<analysis::TriedFix>& result() const { return result_; }
  /// Why there is no result, or one of a part of the blocks only; empty while it runs.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// What was measured, or why nothing was, for people. Once it is over.
  [[nodiscard]] std::string text() const;

 signals:
  /// Another block was measured.
  void changed();
  /// The try is over: see result().
  void finished();

 private:
  enum class Phase : std::uint8_t { kIdle, kMeasuring, kFinished };

  [[nodiscard]] Result<void> begin();
  void request(std::size_t block);
  [[nodiscard]] TryBlock block(TryBlock::Part part) const;
  [[nodiscard]] std::size_t blocks() const;
  [[nodiscard]] bool mayHideGain() const;
  [[nodiscard]] bool tookKnob() const;
  [[nodiscard]] bool isChanged(std::size_t block) const;
  void onReceived();
  void onAnswer(const CommandAnswer& answer);
  void onEnded();
  void finish(std::string problem);
  [[nodiscard]] bool isBlockLongEnough(const events::Marker& begin) const;

  session::Session* session_;
  const analysis::LiveStore* store_;
  TryRunOptions options_;
  Phase phase_ = Phase::kIdle;
  analysis::TriedChange change_;
  std::string problem_;
  std::vector<CallSiteId> callSites_;
  TriedKnob knob_;
  std::size_t markersRead_ = 0;
  std::size_t rounds_ = 0;  ///< as many as there will be
  std::size_t begun_ = 0;   ///< blocks that the script has begun
  std::size_t asked_ = 0;   ///< blocks that it was asked for; one more: to end the try
  std::optional<events::Marker> current_;  ///< that began the current block
  std::optional<analysis::TriedFix> result_;
};

}  // namespace highwater::run
