#include "window/start/recording_changes.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"
#include "models/qt_text.h"
#include "run/recordings_folder.h"
#include "store/recording_file.h"
#include "store/writer_lock.h"
#include "window/tr.h"

namespace highwater::window {
namespace {

/// The paths of the files that SQLite keeps beside a recording, whether they exist or not.
std::array<QString, store::kCompanionSuffixes.size()> companionsOf(const QString& path) {
  std::array<QString, store::kCompanionSuffixes.size()> paths;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string_view suffix = store::kCompanionSuffixes[i];
    paths[i] = path + QLatin1String(suffix.data(), static_cast<qsizetype>(suffix.size()));
  }
  return paths;
}

/// True also for a symbolic link to nothing: it has the name.
bool isTaken(const QString& path) {
  const QFileInfo file(path);
  return file.exists() || file.isSymLink();
}

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
  const QString problem = run::problemWithRecordingName(name, QFileInfo(path).path());
  if (!problem.isEmpty()) return problem;
  // SQLite would take such a file for a part of the renamed recording.
  for (const QString& companion : companionsOf(pathFor(path, name))) {
    if (isTaken(companion)) {
      return tr("%1 is in the folder, left by another recording: choose another name, or move that "
                "file away")
          .arg(QFileInfo(companion).fileName());
    }
  }
  return {};
}

/// Renames files, from first to second. If one cannot be renamed, those before it get their old
/// names back.
Result<void> renameAll(const std::vector<std::pair<QString, QString>>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    QFile file(names[i].first);
    if (file.rename(names[i].second)) continue;
    std::string message =
        names[i].first.toStdString() + " cannot be renamed: " + file.errorString().toStdString();
    while (i-- > 0) {
      if (QFile::rename(names[i].second, names[i].first)) continue;
      message += "; " + names[i].second.toStdString() + " belongs to it: rename it back to " +
                 names[i].first.toStdString();
    }
    return failure(message);
  }
  return {};
}

}  // namespace

Result<QString> renameRecording(const QString& path, const QString& name) {
  if (const QString problem = problemWithName(path, name); !problem.isEmpty()) {
    return usageError(problem.toStdString());
  }
  if (auto free = checkFree(path); !free) return free.error();
  const QString renamed = pathFor(path, name);
  if (renamed == path) return path;
  std::vector<std::pair<QString, QString>> names;
  const auto from = companionsOf(path), to = companionsOf(renamed);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (isTaken(from[i])) names.emplace_back(from[i], to[i]);
  }
  names.emplace_back(path, renamed);
  if (auto done = renameAll(names); !done) return done.error();
  return renamed;
}

Result<void> deleteRecording(const QString& path) {
  if (auto free = checkFree(path); !free) return free.error();
  // The recording first: if it cannot be deleted, its companions must stay.
  std::vector<QString> paths{path};
  for (const QString& companion : companionsOf(path)) paths.push_back(companion);
  for (const QString& each : paths) {
    QFile file(each);
    if (isTaken(each) && !file.remove()) {
      return failure(each.toStdString() +
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
  // All of a usual name in sight: its end is what tells runs apart.
  const int wide = name->fontMetrics().horizontalAdvance(name->text()) + 32;
  name->setMinimumWidth(std::min(wide, 560));
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
