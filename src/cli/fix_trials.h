#pragma once

#include <QObject>
#include <set>
#include <string>
#include <vector>

#include "analysis/findings/findings.h"
#include "run/run.h"

namespace highwater::cli {

/// Tries fixes of a script that is recorded without a window, one after the other, as soon as it
/// has findings: for highwater run --try. Says on stderr what it does and what it measured.
class FixTrials final : public QObject {
 public:
  /// `run` must outlive this. `lines` are those to try, or with `all` every finding that can be.
  FixTrials(run::Run* run, std::vector<std::string> lines, bool all);

  /// Says what was not tried, once the run has ended.
  void conclude();

 private:
  void look();
  void onTryChanged();
  [[nodiscard]] bool isWanted(const analysis::Finding& finding) const;

  run::Run* run_;
  std::vector<std::string> lines_;
  bool all_;
  std::set<std::string> done_;
  std::size_t lookedAt_ = 0;  ///< steps that there were
};

}  // namespace highwater::cli
