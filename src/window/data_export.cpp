#include "window/data_export.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QStringList>
#include <QWidget>

#include "report/data_files.h"
#include "window/tr.h"

namespace highwater::window {
namespace {

using report::DataFileKind;

/// The line of a dialog that chooses a kind.
QString filterOf(const DataFileKind& kind) {
  const QString pattern = kind.file == report::DataFile::kCsvFolder
                              ? QStringLiteral("*")
                              : u'*' + QString::fromUtf8(kind.ending);
  return QStringLiteral("%1 (%2)").arg(tr(kind.title), pattern);
}

const DataFileKind& kindOfFilter(const QString& filter) {
  const auto kinds = report::dataFileKinds();
  for (const DataFileKind& each : kinds) {
    if (filterOf(each) == filter) return each;
  }
  return kinds.front();
}

/// What the command prints of one of its messages.
QString withoutPrefix(const QByteArray& said) {
  QString message = QString::fromUtf8(said).trimmed();
  const QString prefix = QStringLiteral("highwater: ");
  if (message.startsWith(prefix)) message.remove(0, prefix.size());
  return message.replace(u'\n' + prefix, QStringLiteral("; "));
}

}  // namespace

std::optional<DataExportTarget> askForDataExport(QWidget* parent, const QString& recording) {
  const QFileInfo shown(recording);
  QFileDialog dialog(parent, tr("Export data"), shown.path());
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.setFileMode(QFileDialog::AnyFile);
  QStringList filters;
  for (const DataFileKind& each : report::dataFileKinds()) filters << filterOf(each);
  dialog.setNameFilters(filters);
  // The dialog asks before it overwrites a file, so it has to know the whole name.
  const auto chooseKind = [&dialog](const QString& filter) {
    const DataFileKind& kind = kindOfFilter(filter);
    const bool isFolder = kind.file == report::DataFile::kCsvFolder;
    dialog.setDefaultSuffix(isFolder ? QString() : QString::fromUtf8(kind.ending.substr(1)));
  };
  QObject::connect(&dialog, &QFileDialog::filterSelected, &dialog, chooseKind);
  chooseKind(filters.front());
  dialog.selectFile(shown.completeBaseName());
  if (dialog.exec() != QDialog::Accepted || dialog.selectedFiles().isEmpty()) return std::nullopt;
  DataExportTarget target{dialog.selectedFiles().front()};
  const DataFileKind& kind = kindOfFilter(dialog.selectedNameFilter());
  if (report::dataFileKindOf(target.file.toStdString())) {
    target.overwrites = QFileInfo::exists(target.file);
    return target;
  }
  target.file += QString::fromUtf8(kind.ending);
  if (!QFileInfo::exists(target.file)) return target;
  target.overwrites =
      QMessageBox::question(parent, tr("Export data"),
                            tr("%1 exists. Overwrite what an export has written there?")
                                .arg(QDir::cleanPath(target.file))) == QMessageBox::Yes;
  return target.overwrites ? std::optional(target) : std::nullopt;
}

DataExport::~DataExport() {
  if (!process_) return;
  process_->disconnect(this);
  process_->terminate();  // it removes what it has begun
  constexpr int kMostMs = 3000;
  process_->waitForFinished(kMostMs);
}

void DataExport::start(const QString& program, const QString& recording,
                       const DataExportTarget& target) {
  if (process_) return;
  isCancelled_ = false;
  name_ = QFileInfo(QDir::cleanPath(target.file)).fileName();
  process_ = std::make_unique<QProcess>();
  process_->setStandardInputFile(QProcess::nullDevice());
  connect(process_.get(), &QProcess::finished, this, &DataExport::end);
  connect(process_.get(), &QProcess::errorOccurred, this,
          [this, program](QProcess::ProcessError error) {
            if (error != QProcess::FailedToStart) return;
            const QString reason = process_->errorString();
            process_.release()->deleteLater();
            emit failed(tr("%1 cannot be started: %2").arg(program, reason));
          });
  QStringList arguments{QStringLiteral("export"), QFileInfo(recording).absoluteFilePath(),
                        QStringLiteral("--to"), target.file};
  if (target.overwrites) arguments << QStringLiteral("--force");
  process_->start(program, arguments);
  if (process_) emit started();
}

void DataExport::cancel() {
  if (!process_) return;
  isCancelled_ = true;
  process_->terminate();
}

void DataExport::end(int exitCode, QProcess::ExitStatus status) {
  const QString summary = QString::fromUtf8(process_->readAllStandardOutput()).trimmed();
  const QString said = withoutPrefix(process_->readAllStandardError());
  process_.release()->deleteLater();
  if (status == QProcess::NormalExit && exitCode == 0) {
    emit finished(summary, said);
  } else if (isCancelled_) {
    emit cancelled();
  } else {
    emit failed(said.isEmpty() ? tr("the export of %1 has ended with a signal").arg(name_) : said);
  }
}

}  // namespace highwater::window
