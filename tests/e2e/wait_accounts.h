#pragma once

#include <QByteArray>
#include <QString>
#include <map>
#include <vector>

#include "analysis/live_store.h"

// What the probe and the simulated device's ledger say of waits and fallbacks from the first step
// on, evaluations included.
namespace highwater::test {

/// Times are the run's, in ns since its epoch.
struct Span {
  std::int64_t beginNs = 0, endNs = 0;
  [[nodiscard]] bool holds(std::int64_t ns) const { return ns >= beginNs && ns < endNs; }
  /// `slackNs`: how far the other may reach out.
  [[nodiscard]] bool holds(const Span& other, std::int64_t slackNs) const {
    return other.beginNs >= beginNs - slackNs && other.endNs <= endNs + slackNs;
  }
  [[nodiscard]] double ms() const { return static_cast<double>(endNs - beginNs) / 1e6; }
};

/// How long the host was held up, once. An observer sees the op that waits from its begin to its
/// end; the ledger the call into the device that the op makes, by the clock of the calling thread
/// too, and the wait in that. Of a fallback all its waits together.
struct Wait {
  Span span;          ///< the probe's op; the ledger's wait; a fallback's own
  double heldMs = 0;  ///< what is compared: of the op, of the call
  double waitMs = 0;  ///< of the ledger: of that, waiting
};
using Waits = std::vector<Wait>;  ///< by begin

struct Account {
  std::map<QString, Waits> waits;    ///< by kind, outside of fallbacks
  Waits ofFallbacks;                 ///< one for each
  std::map<QString, int> fallbacks;  ///< by op
};

[[nodiscard]] Account byProbe(const analysis::LiveStore& store);
/// Empty where the file cannot be read. Waits for events are left out: the probe itself asks for
/// the time between two that have passed (tst_queue holds that it waits for none).
[[nodiscard]] Account byLedger(const QString& file, const analysis::LiveStore& store);

/// For people: each kind with count and ms.
[[nodiscard]] QByteArray text(const Account& account);

/// Single waits beside each other, over all runs that were added.
class WaitComparison {
 public:
  /// What differs in kind or number, or a wait of the ledger's that lies in no op of the probe's;
  /// empty where all fit. `run` names it among the outliers.
  [[nodiscard]] QByteArray add(const QString& run, const Account& probe, const Account& ledger);

  struct Totals {
    int count = 0;
    double probeMs = 0, ledgerMs = 0, waitMs = 0;
    /// Within 2 %, or 50 us a wait where they are so short.
    [[nodiscard]] bool agree() const;
  };
  [[nodiscard]] const std::map<QString, Totals>& totals() const { return totals_; }
  [[nodiscard]] int count() const { return count_; }
  /// Waits that differ by more than max(2 %, 50 us), a line for each.
  [[nodiscard]] const std::vector<QByteArray>& outliers() const { return outliers_; }

 private:
  [[nodiscard]] QByteArray addKind(const QString& run, const QString& kind, const Waits& probe,
                                   const Waits& ledger);

  std::map<QString, Totals> totals_;
  int count_ = 0;
  std::vector<QByteArray> outliers_;
};

}  // namespace highwater::test
