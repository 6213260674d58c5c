#include "window/help_dialogs.h"

#include <QAction>
#include <QClipboard>
#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QFontDatabase>
#include <QFontMetrics>
#include <QGridLayout>
#include <QGuiApplication>
#include <QLabel>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QProcess>
#include <QProcessEnvironment>
#include <QPushButton>
#include <QScreen>
#include <QVBoxLayout>
#include <algorithm>

#include "views/desktop_keys.h"
#include "views/panes/time_keys.h"
#include "window/tr.h"

namespace highwater::window {
namespace {

/// A command's other keys are named where the column need not grow for them.
constexpr int kMostKeyLetters = 12;

/// What a dialog with the answer of a command says of itself.
struct AnswerTexts {
  QString name;  ///< of the objects: "doctor" of doctorDialog and doctorText
  QString title, spoken, waiting;
};

/// Shows what a command of the program prints, in a dialog that does not block the window.
void showAnswer(QWidget* parent, const AnswerTexts& texts, const QString& program,
                const QStringList& arguments) {
  auto* dialog = new QDialog(parent);
  dialog->setObjectName(texts.name + QStringLiteral("Dialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(texts.title);
  auto* answer = new QPlainTextEdit(texts.waiting, dialog);
  answer->setObjectName(texts.name + QStringLiteral("Text"));
  answer->setAccessibleName(texts.spoken);
  answer->setReadOnly(true);
  answer->setTabChangesFocus(true);
  answer->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  // Wide enough for the lines of the command, with a margin and a scroll bar, on a small screen
  // too.
  constexpr int kColumns = 92, kBeside = 80, kTall = 620;
  const int wide = QFontMetrics(answer->font()).horizontalAdvance(QLatin1Char('0')) * kColumns;
  dialog->resize(QSize(wide + kBeside, kTall).boundedTo(parent->screen()->availableSize()));
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
  auto* process = new QProcess(dialog);
  process->setProcessChannelMode(QProcess::MergedChannels);
  process->setStandardInputFile(QProcess::nullDevice());
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert(QStringLiteral("COLUMNS"), QString::number(kColumns));
  process->setProcessEnvironment(environment);
  QObject::connect(process, &QProcess::finished, answer, [=] {
    answer->setPlainText(QString::fromUtf8(process->readAllStandardOutput()).trimmed());
    copy->setEnabled(true);
  });
  QObject::connect(process, &QProcess::errorOccurred, answer, [=](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      answer->setPlainText(tr("%1 cannot be started: %2").arg(program, process->errorString()));
    }
  });
  process->start(program, arguments);
  dialog->show();
}

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
    const views::DesktopKeys keys = views::desktopKeys();
    add(1, nameOf(keys.rename.front()), tr("Rename recording…"));
    add(1, nameOf(keys.remove.front()), tr("Delete recording…"));
    grid->setRowStretch(std::max(rows[0], rows[1]), 1);
  }
  dialog->show();
  dialog->raise();
}

void showDoctorDialog(QWidget* parent, const QString& program) {
  showAnswer(parent,
             {QStringLiteral("doctor"), tr("Check this machine"), tr("What works on this machine"),
              tr("Asking the worker about device, memory and PyTorch…")},
             program, {QStringLiteral("doctor")});
}

void showCompareDialog(QWidget* parent, const QString& program, const QString& a,
                       const QString& b) {
  showAnswer(
      parent,
      {QStringLiteral("compare"),
       tr("%1 with %2").arg(QFileInfo(a).completeBaseName(), QFileInfo(b).completeBaseName()),
       tr("What tells the recordings apart"), tr("Reading both recordings…")},
      program, {QStringLiteral("compare"), a, b});
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
