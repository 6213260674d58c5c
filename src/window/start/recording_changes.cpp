#include "window/start/recording_changes.h"

#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QVBoxLayout>

#include "core/units.h"
#include "models/qt_text.h"
#include "store/recording_file.h"
#include "store/writer_lock.h"
#include "window/start/recordings_folder.h"

namespace highwater::window {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("RecordingChanges", text);
}

/// What a run that was killed leaves beside its recording: without it the end is lost.
constexpr const char* kSuffixes[] = {"", "-wal", "-shm"};

Result<void> checkFree(const QString& path) {
  if (store::isBeingWritten(path.toStdString())) return store::beingWritten(path.toStdString());
  return {};
}

QString pathFor(const QString& path, const QString& name) {
  return QFileInfo(path).path() + u'/' + name + QStringLiteral(".highwater");
}

/// Why a recording cannot get this name; empty if it can, or has it already.
QString problemWithName(const QString& path, const QString& name) {
  if (pathFor(path, name) == path) return {};
  return problemWithRecordingName(name, QFileInfo(path).path());
}

}  // namespace

Result<QString> renameRecording(const QString& path, const QString& name) {
  if (const QString problem = problemWithName(path, name); !problem.isEmpty()) {
    return usageError(problem.toStdString());
  }
  if (auto free = checkFree(path); !free) return free.error();
  const QString renamed = pathFor(path, name);
  if (renamed == path) return path;
  for (const char* suffix : kSuffixes) {
    QFile file(path + QLatin1String(suffix));
    if (!file.exists() && *suffix != '\0') continue;
    if (!file.rename(renamed + QLatin1String(suffix))) {
      return failure(file.fileName().toStdString() +
                     " cannot be renamed: " + file.errorString().toStdString());
    }
  }
  return renamed;
}

Result<void> deleteRecording(const QString& path) {
  if (auto free = checkFree(path); !free) return free.error();
  for (const char* suffix : kSuffixes) {
    QFile file(path + QLatin1String(suffix));
    if (file.exists() && !file.remove()) {
      return failure(file.fileName().toStdString() +
                     " cannot be deleted: " + file.errorString().toStdString());
    }
  }
  return {};
}

void askToRename(QWidget* parent, const QString& path,
                 std::function<void(const QString& newPath)> renamed) {
  auto* dialog = new QDialog(parent);
  dialog->setObjectName(QStringLiteral("renameDialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Rename the recording"));
  dialog->setMinimumWidth(360);
  auto* name = new QLineEdit(QFileInfo(path).completeBaseName(), dialog);
  name->setObjectName(QStringLiteral("recordingName"));
  name->setAccessibleName(tr("Name of the recording"));
  name->setProperty("kind", "field");
  name->setMinimumHeight(26);
  name->selectAll();
  auto* note = new QLabel(dialog);
  note->setObjectName(QStringLiteral("recordingNameProblem"));
  note->setTextFormat(Qt::PlainText);
  note->setWordWrap(true);
  note->setProperty("kind", "wrong");
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, dialog);
  buttons->button(QDialogButtonBox::Cancel)->setIcon({});
  QPushButton* accept = buttons->addButton(tr("Rename"), QDialogButtonBox::AcceptRole);
  auto* column = new QVBoxLayout(dialog);
  column->setContentsMargins(16, 16, 16, 16);
  for (QWidget* each :
       {static_cast<QWidget*>(name), static_cast<QWidget*>(note), static_cast<QWidget*>(buttons)}) {
    column->addWidget(each);
  }
  QObject::connect(name, &QLineEdit::textChanged, note, [=](const QString& text) {
    const QString problem = problemWithName(path, text.trimmed());
    note->setText(problem);
    accept->setEnabled(problem.isEmpty());
  });
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  QObject::connect(buttons, &QDialogButtonBox::accepted, dialog, [=, renamed = std::move(renamed)] {
    const auto done = renameRecording(path, name->text().trimmed());
    if (!done) return note->setText(text(done.error().message));
    dialog->accept();
    renamed(*done);
  });
  dialog->open();
  name->setFocus();
}

void askToDelete(QWidget* parent, const QString& path, std::function<void()> deleted) {
  const QFileInfo file(path);
  auto* dialog = new QMessageBox(QMessageBox::Question, tr("Delete the recording"), {},
                                 QMessageBox::Cancel, parent);
  dialog->setObjectName(QStringLiteral("deleteDialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setTextFormat(Qt::PlainText);
  dialog->setText(tr("Delete %1?").arg(file.completeBaseName()));
  dialog->setInformativeText(tr("The file is deleted for good, %1.")
                                 .arg(text(formatBytes(static_cast<std::uint64_t>(file.size())))));
  QPushButton* yes = dialog->addButton(tr("Delete"), QMessageBox::DestructiveRole);
  yes->setObjectName(QStringLiteral("deleteButton"));
  dialog->setDefaultButton(QMessageBox::Cancel);
  QObject::connect(dialog, &QMessageBox::buttonClicked, parent,
                   [=, deleted = std::move(deleted)](QAbstractButton* button) {
                     if (button != yes) return;
                     if (auto done = deleteRecording(path); !done) {
                       auto* sorry =
                           new QMessageBox(QMessageBox::Warning, tr("Delete the recording"),
                                           text(done.error().message), QMessageBox::Ok, parent);
                       sorry->setAttribute(Qt::WA_DeleteOnClose);
                       sorry->setTextFormat(Qt::PlainText);
                       sorry->open();
                       return;
                     }
                     deleted();
                   });
  dialog->open();
}

}  // namespace highwater::window
