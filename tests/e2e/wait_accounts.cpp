#include "e2e/wait_accounts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>

#include "core/names.h"

namespace highwater::test {
namespace {

/// The probe's clock is within some microseconds of the ledger's, but for its first half second,
/// whose pace comes of 10 ms: then within 1 ms (tests/probe/tst_tick_clock). Single waits are
/// further apart.
constexpr std::int64_t kClockSlackNs = 1'000'000;

/// Of the median wait of a kind, and at least. The probe times the op that waits, the ledger the
/// call into the device that it makes: on a busy machine the medians lay 2 to 7 us apart.
constexpr double kTolerance = 0.02;
constexpr double kToleranceMs = 0.05;
const QString kFallbacks = QStringLiteral("fallback");

std::int64_t firstStepNs(const analysis::LiveStore& store) {
  const auto& steps = store.steps().records;
  return steps.empty() ? std::numeric_limits<std::int64_t>::max() : steps.front().begin_ns();
}

bool anyHolds(const Waits& waits, std::int64_t ns) {
  return std::any_of(waits.begin(), waits.end(),
                     [ns](const Wait& each) { return each.span.holds(ns); });
}

/// The probe's name for a cause of waits in the ledger.
QString kindOf(const QString& cause) {
  return cause == QLatin1String("result_size") ? QStringLiteral("nonzero") : cause;
}

void sort(Waits& waits) {
  std::sort(waits.begin(), waits.end(),
            [](const Wait& a, const Wait& b) { return a.span.beginNs < b.span.beginNs; });
}

void sort(Account& account) {
  for (auto& [kind, waits] : account.waits) sort(waits);
}

QByteArray number(double value, int digits = 3) {
  return QByteArray::number(value, 'f', digits);
}

QByteArray textOf(const QString& kind, const Waits& waits) {
  double held = 0, waited = 0;
  for (const Wait& each : waits) {
    held += each.heldMs;
    waited += each.waitMs;
  }
  QByteArray line = kind.toUtf8() + " " + QByteArray::number(qsizetype(waits.size())) + " x, " +
                    number(held, 2) + " ms";
  if (waited > 0) line += " (waiting " + number(waited, 2) + ")";
  return line + "; ";
}

}  // namespace

Account byProbe(const analysis::LiveStore& store) {
  Account account;
  for (const events::FallbackEvent& each : store.fallbacks()) {
    account.ofFallbacks.push_back({{each.begin_ns(), each.begin_ns() + each.duration_ns()},
                                   static_cast<double>(each.wait_ns()) / 1e6});
    ++account.fallbacks[QString::fromStdString(store.name(each.op()))];
  }
  for (const events::SyncPoint& each : store.syncPoints()) {
    if (each.kind() == events::SyncKind::Fallback || each.begin_ns() < firstStepNs(store) ||
        anyHolds(account.ofFallbacks, each.begin_ns())) {
      continue;
    }
    const std::string_view kind = syncKindKey(each.kind());
    const Span span{each.begin_ns(), each.begin_ns() + each.duration_ns()};
    account.waits[QString::fromUtf8(kind.data(), qsizetype(kind.size()))].push_back(
        {span, span.ms()});
  }
  sort(account.ofFallbacks);
  sort(account);
  return account;
}

Account byLedger(const QString& file, const analysis::LiveStore& store) {
  const Ledger ledger = Ledger::read(file, store.hello()->clock.monotonicEpochNs);
  const std::int64_t firstNs = firstStepNs(store);
  Account account;
  for (const Ledger::Fallback& each : ledger.fallbacks) {
    if (each.span.beginNs < firstNs) continue;
    account.ofFallbacks.push_back({.span = each.span, .heldMs = 0, .waitMs = 0, .calls = 0});
    ++account.fallbacks[each.op.section(u'.', 0, 0)];
  }
  sort(account.ofFallbacks);
  for (const Ledger::Drain& drain : ledger.drains) {
    if (drain.wait.beginNs < firstNs || drain.cause == "event" || drain.cause == "exit") continue;
    const auto holder =
        std::find_if(account.ofFallbacks.begin(), account.ofFallbacks.end(),
                     [&](const Wait& each) { return each.span.holds(drain.wait.beginNs); });
    if (holder == account.ofFallbacks.end()) {
      account.waits[kindOf(drain.cause)].push_back({drain.wait, drain.call.ms(), drain.wait.ms()});
    } else {
      holder->heldMs += drain.call.ms();
      holder->waitMs += drain.wait.ms();
      ++holder->calls;
    }
  }
  sort(account);
  return account;
}

QByteArray text(const Account& account) {
  QByteArray line;
  for (const auto& [kind, waits] : account.waits) line += textOf(kind, waits);
  line += textOf(kFallbacks, account.ofFallbacks);
  for (const auto& [op, count] : account.fallbacks) {
    line += op.toUtf8() + " " + QByteArray::number(count) + " ";
  }
  return line;
}

namespace {

double medianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double medianHeldMs(const Waits& waits) {
  std::vector<double> ms;
  for (const Wait& each : waits) ms.push_back(each.heldMs);
  return medianOf(ms);
}

}  // namespace

double WaitComparison::Kind::medianExcessMs() const {
  return medianOf(excessMs);
}

bool WaitComparison::Kind::agrees() const {
  const double tolerance = std::max(kTolerance * medianHeldMs(ledger), kToleranceMs);
  return std::fabs(medianExcessMs()) <= tolerance;
}

QByteArray WaitComparison::Kind::text() const {
  const double most = excessMs.empty() ? 0 : *std::max_element(excessMs.begin(), excessMs.end());
  return QByteArray::number(qsizetype(ledger.size())) + " waits, median " +
         number(medianHeldMs(ledger)) + " ms; the probe's are longer by " +
         number(1000 * medianExcessMs(), 1) + " us, at most " + number(1000 * most, 1) + " us";
}

QByteArray WaitComparison::addKind(const QString& kind, const Waits& probe, const Waits& ledger) {
  if (probe.size() != ledger.size()) return kind.toUtf8() + ": not the same number";
  Kind& all = kinds_[kind];
  for (std::size_t i = 0; i < probe.size(); ++i) {
    if (!probe[i].span.holds(ledger[i].span, kClockSlackNs)) {
      return kind.toUtf8() + ": a wait outside of the probe's op";
    }
    all.ledger.push_back(ledger[i]);
    const double excessMs = probe[i].heldMs - ledger[i].heldMs;
    all.excessMs.push_back(excessMs / std::max(ledger[i].calls, 1));
  }
  return {};
}

QByteArray WaitComparison::add(const Account& probe, const Account& ledger) {
  if (probe.fallbacks != ledger.fallbacks) return "not the same fallbacks";
  QByteArray problem = addKind(kFallbacks, probe.ofFallbacks, ledger.ofFallbacks);
  if (probe.waits.size() != ledger.waits.size()) problem = "not the same kinds of waits";
  for (const auto& [kind, waits] : ledger.waits) {
    if (!problem.isEmpty()) return problem;
    const auto seen = probe.waits.find(kind);
    problem = seen == probe.waits.end() ? "the probe has no " + kind.toUtf8()
                                        : addKind(kind, seen->second, waits);
  }
  return problem;
}

}  // namespace highwater::test
