#include "window/help_dialogs.h"

#include <QAction>
#include <QClipboard>
#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFontDatabase>
#include <QGridLayout>
#include <QGuiApplication>
#include <QLabel>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "views/panes/time_keys.h"
#include "window/tr.h"

namespace highwater::window {
namespace {

/// A command's other keys are named where the column need not grow for them.
constexpr int kMostKeyLetters = 12;

}  // namespace

void showKeysDialog(QWidget* parent) {
  auto* dialog = parent->findChild<QDialog*>(QStringLiteral("keysDialog"));
  if (!dialog) {
    dialog = new QDialog(parent);
    dialog->setObjectName(QStringLiteral("keysDialog"));
    dialog->setWindowTitle(tr("Keys"));
    auto* grid = new QGridLayout(dialog);
    grid->setContentsMargins(16, 16, 16, 16);
    grid->setHorizontalSpacing(24);
    // The timeline's on the left and the commands' on the right: one column would be higher than a
    // small screen.
    int rows[] = {0, 0};
    const auto add = [&](int half, const QString& key, const QString& meaning) {
      auto* name = new QLabel(key, dialog);
      name->setProperty("kind", "title");
      grid->addWidget(name, rows[half], 2 * half);
      grid->addWidget(new QLabel(meaning, dialog), rows[half]++, 2 * half + 1);
    };
    for (const auto& [key, meaning] : views::timeKeys()) add(0, key, meaning);
    for (const QAction* action : parent->actions()) {
      if (action->shortcut().isEmpty()) continue;
      QString keys = action->shortcut().toString(QKeySequence::NativeText);
      for (const QKeySequence& key : action->shortcuts().mid(1)) {
        const QString all = keys + tr(", ") + key.toString(QKeySequence::NativeText);
        if (all.size() <= kMostKeyLetters) keys = all;
      }
      add(1, keys, action->text().remove(QLatin1Char('&')));
    }
    // Of the widget that has the focus.
    const auto nameOf = [](const QKeySequence& key) {
      return key.toString(QKeySequence::NativeText);
    };
    add(1, nameOf(QKeySequence::Copy), tr("Copy"));
    add(1, nameOf(Qt::Key_F2), tr("Rename recording…"));
    add(1, nameOf(Qt::Key_Delete), tr("Delete recording…"));
    grid->setRowStretch(std::max(rows[0], rows[1]), 1);
  }
  dialog->show();
  dialog->raise();
}

void showDoctorDialog(QWidget* parent, const QString& program) {
  auto* dialog = new QDialog(parent);
  dialog->setObjectName(QStringLiteral("doctorDialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Check this machine"));
  dialog->resize(720, 480);
  auto* answer =
      new QPlainTextEdit(tr("Asking the worker about device, memory and PyTorch…"), dialog);
  answer->setObjectName(QStringLiteral("doctorText"));
  answer->setAccessibleName(tr("What works on this machine"));
  answer->setReadOnly(true);
  answer->setTabChangesFocus(true);
  answer->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
  buttons->button(QDialogButtonBox::Close)->setIcon({});
  auto* copy = buttons->addButton(tr("Copy"), QDialogButtonBox::ActionRole);
  copy->setEnabled(false);
  auto* column = new QVBoxLayout(dialog);
  column->setContentsMargins(16, 16, 16, 16);
  column->addWidget(answer);
  column->addWidget(buttons);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  QObject::connect(copy, &QPushButton::clicked, answer,
                   [answer] { QGuiApplication::clipboard()->setText(answer->toPlainText()); });
  auto* doctor = new QProcess(dialog);
  doctor->setProcessChannelMode(QProcess::MergedChannels);
  doctor->setStandardInputFile(QProcess::nullDevice());
  QObject::connect(doctor, &QProcess::finished, answer, [=] {
    answer->setPlainText(QString::fromUtf8(doctor->readAllStandardOutput()).trimmed());
    copy->setEnabled(true);
  });
  QObject::connect(doctor, &QProcess::errorOccurred, answer, [=](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      answer->setPlainText(tr("%1 cannot be started: %2").arg(program, doctor->errorString()));
    }
  });
  doctor->start(program, {QStringLiteral("doctor")});
  dialog->show();
}

void showAboutDialog(QWidget* parent, const analysis::LiveStore& store) {
  QString text =
      tr("<b>Highwater %1</b><p>Profiler and memory monitor for PyTorch training on MPS. "
         "GPL-3.0-or-later.</p><p>Qt %2</p>")
          .arg(QCoreApplication::applicationVersion().toHtmlEscaped(), QLatin1String(qVersion()));
  if (store.hello()) {
    text += tr("<p>Worker %1, PyTorch %2, %3</p>")
                .arg(QString::fromStdString(store.hello()->workerVersion).toHtmlEscaped(),
                     QString::fromStdString(store.hello()->torchVersion).toHtmlEscaped(),
                     QString::fromStdString(store.hello()->platform).toHtmlEscaped());
  }
  QMessageBox::about(parent, tr("About Highwater"), text);
}

}  // namespace highwater::window
