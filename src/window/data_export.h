#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <memory>
#include <optional>

class QWidget;

namespace highwater::window {

/// Where a recording is exported to.
struct DataExportTarget {
  QString file;             ///< whose ending says the kind; of a folder it is "/"
  bool overwrites = false;  ///< the user wants that to be replaced
};

/// Asks for a file or folder for the data of a recording. std::nullopt: the user wants none.
[[nodiscard]] std::optional<DataExportTarget> askForDataExport(QWidget* parent,
                                                               const QString& recording);

/// Exports a recording as traces or tables, one at a time: by `highwater export` in a process of
/// its own, so that the window goes on.
class DataExport final : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  /// Stops the export, which leaves nothing then.
  ~DataExport() override;

  /// Starts `program export`. Does nothing while an export runs.
  void start(const QString& program, const QString& recording, const DataExportTarget& target);
  [[nodiscard]] bool isRunning() const { return process_ != nullptr; }
  /// The file or folder of the export that runs, without the folders that it is in.
  [[nodiscard]] const QString& name() const { return name_; }
  /// Ends the export that runs, if any: cancelled() follows.
  void cancel();

 signals:
  void started();
  /// `summary` says what was written, and `remark` what the user should know of it, if anything.
  void finished(const QString& summary, const QString& remark);
  void failed(const QString& reason);
  void cancelled();

 private:
  void end(int exitCode, QProcess::ExitStatus status);

  std::unique_ptr<QProcess> process_;
  QString name_;
  bool isCancelled_ = false;
};

}  // namespace highwater::window
