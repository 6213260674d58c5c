#pragma once

#include <QObject>
#include <set>
#include <string>

#include "analysis/findings/findings.h"
#include "cli/options.h"
#include "run/run.h"

namespace highwater::cli {

/// Tries changes of a run that is recorded without a window, one after the other: fixes as soon as
/// there are findings, then knobs. For --try. Says on stderr what it does and what it measured.
class FixTrials final : public QObject {
 public:
  /// `run` must outlive this.
  FixTrials(run::Run* run, TriedOptions options);

  /// Says what was not tried, once the run has ended for good.
  void conclude();

 private:
  void look();
  [[nodiscard]] bool tryFinding();
  void tryNextKnob();
  void onTryChanged();
  [[nodiscard]] bool isWanted(const analysis::Finding& finding) const;

  run::Run* run_;
  TriedOptions options_;
  std::set<std::string> done_;  ///< lines
  std::size_t knobsDone_ = 0;
  std::size_t lookedAt_ = 0;  ///< steps that there were
};

}  // namespace highwater::cli
