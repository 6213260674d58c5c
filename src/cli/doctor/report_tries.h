#pragma once

#include <QByteArray>
#include <QDateTime>
#include <QString>
#include <QStringList>
#include <QTemporaryDir>
#include <chrono>
#include <utility>
#include <vector>

#include "cli/options.h"

namespace highwater::cli {

/// What `highwater doctor --report` runs, one program after the other, in a folder of its own that
/// its destructor removes. Ctrl+C, SIGTERM and SIGHUP end the program that runs, and all tries.
/// One instance in a process.
class ReportTries {
 public:
  explicit ReportTries(const DoctorOptions& options);
  ~ReportTries();
  ReportTries(const ReportTries&) = delete;
  ReportTries& operator=(const ReportTries&) = delete;

  /// Whether there is a folder; without one nothing may run.
  [[nodiscard]] bool hasFolder() const { return folder_.isValid(); }
  /// Runs all. Tells on stderr what it does.
  void run();
  /// The signal that ended the tries; 0: none.
  [[nodiscard]] static int endedBy();
  /// Name and content of each file, not yet without what is private.
  [[nodiscard]] const std::vector<std::pair<QString, QByteArray>>& files() const { return files_; }
  /// Each try with its outcome, a line each.
  [[nodiscard]] QString summary() const { return summary_; }
  /// The folder in which the programs ran.
  [[nodiscard]] QString folder() const { return folder_.path(); }

 private:
  struct Try {
    QString name;     ///< of its files in the archive
    QString doing;    ///< "what this machine has"
    QString program;  ///< empty: highwater itself
    QStringList arguments;
    std::chrono::seconds limit;
    QStringList makes{};      ///< files that it writes into the folder
    bool keepsOutput = true;  ///< stdout goes into NAME.json, else into NAME.log
  };

  /// Returns whether it ended with exit code 0.
  bool attempt(const Try& what);
  void skip(const QString& name, const QString& why);
  void takeSystem();
  void takeSelfTest();
  void takeScript();
  void takeSample();
  void takeCrashes();
  void note(const QString& name, const QString& outcome);

  const DoctorOptions& options_;
  QTemporaryDir folder_;
  QDateTime begin_;
  std::vector<std::pair<QString, QByteArray>> files_;
  QString summary_;
  QByteArray out_;  ///< stdout of the last try
};

}  // namespace highwater::cli
