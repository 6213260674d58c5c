#pragma once

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/run_program.h"

// What the tests of real runs have in common.
namespace highwater::test {

inline QJsonObject jsonOf(const QByteArray& text) {
  return QJsonDocument::fromJson(text).object();
}
inline QJsonObject jsonOf(const Outcome& outcome) {
  return jsonOf(outcome.out.toUtf8());
}
/// Of a file; empty if it cannot be read.
inline QJsonObject jsonIn(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? jsonOf(file.readAll()) : QJsonObject();
}

/// The line of a file that holds `text`, from 1; 0: none does.
inline int lineWith(const QString& text, const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return 0;
  const QStringList lines = QString::fromUtf8(file.readAll()).split(u'\n');
  for (int i = 0; i < lines.size(); ++i) {
    if (lines[i].contains(text)) return i + 1;
  }
  return 0;
}

/// The window's recordings and settings go below `home`.
inline void useHome(const QTemporaryDir& home) {
  qputenv("HOME", home.path().toLocal8Bit());
  for (const char* name : {"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"}) qunsetenv(name);
  QStandardPaths::setTestModeEnabled(true);
  // A busy machine is not to look like one that hangs.
  qputenv("HIGHWATER_HANG_TIMEOUT_MS", "60000");
}

/// Times are in ns since the run's epoch.
struct Span {
  std::int64_t beginNs = 0, endNs = 0;
  [[nodiscard]] bool holds(std::int64_t ns) const { return ns >= beginNs && ns < endNs; }
  /// True where `other` reaches out of this span by `slackNs` at most.
  [[nodiscard]] bool holds(const Span& other, std::int64_t slackNs) const {
    return other.beginNs >= beginNs - slackNs && other.endNs <= endNs + slackNs;
  }
  [[nodiscard]] double ms() const { return static_cast<double>(endNs - beginNs) / 1e6; }
};

/// The simulated device's own account of a run.
struct Ledger {
  /// A kernel that has ended.
  struct Kernel {
    std::int64_t enqueuedNs = 0;
    Span ran;
  };
  /// A wait of the host. `call`: the call into the device that waits.
  struct Drain {
    QString cause;
    Span wait, call;
  };
  /// lateNs: by how much the event's time lies after the moment at which the queue passed it.
  struct EventPass {
    std::int64_t recordedNs = 0, passedNs = 0, lateNs = 0;
  };
  struct Fallback {
    QString op;
    Span span;
  };

  std::vector<Kernel> kernels;
  std::vector<Drain> drains;
  std::vector<EventPass> events;
  std::vector<Fallback> fallbacks;
  std::vector<std::pair<std::int64_t, std::int64_t>> currentBytes;  ///< by time

  /// Empty if the file cannot be read. `epochNs`: the run's, in the device's time.
  static Ledger read(const QString& path, std::int64_t epochNs) {
    Ledger ledger;
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return ledger;
    while (!file.atEnd()) ledger.add(jsonOf(file.readLine()), epochNs);
    return ledger;
  }

 private:
  void add(const QJsonObject& entry, std::int64_t epochNs) {
    const auto ns = [&](const char* key) {
      return entry[QLatin1String(key)].toInteger() - epochNs;
    };
    const auto span = [&](const char* begin, const char* end) { return Span{ns(begin), ns(end)}; };
    const QString event = entry["event"].toString();
    if (entry.contains("current_bytes")) {
      currentBytes.emplace_back(ns("time_ns"), entry["current_bytes"].toInteger());
    }
    if (event == "kernel" && entry["end_ns"].toInteger() != 0) {
      kernels.push_back({ns("enqueued_ns"), span("start_ns", "end_ns")});
    } else if (event == "drain") {
      drains.push_back(
          {entry["cause"].toString(), span("begin_ns", "end_ns"), span("call_ns", "return_ns")});
    } else if (event == "fallback") {
      fallbacks.push_back({entry["op"].toString(), span("begin_ns", "end_ns")});
    } else if (event == "event_passed") {
      events.push_back({ns("recorded_ns"), ns("passed_ns"), 0});
    } else if (event == "event_noticed") {
      for (EventPass& each : events) {
        if (each.recordedNs == ns("recorded_ns")) each.lateNs = ns("noticed_ns") - each.passedNs;
      }
    }
  }
};

}  // namespace highwater::test
