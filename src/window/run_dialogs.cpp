#include "window/run_dialogs.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QVBoxLayout>

#include "run/fallback_acceptance.h"
#include "window/tr.h"
#include "wire/limits.h"

namespace highwater::window {
void askForReason(QWidget* parent, const QString& op,
                  std::function<void(const QString& reason)> accepted) {
  auto* dialog = new QDialog(parent);
  dialog->setObjectName(QStringLiteral("acceptDialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Accept the CPU path"));
  dialog->setMinimumWidth(380);
  auto* column = new QVBoxLayout(dialog);
  column->setContentsMargins(16, 16, 16, 16);
  column->setSpacing(8);
  auto* name = new QLabel(op, dialog);
  name->setTextFormat(Qt::PlainText);
  name->setProperty("kind", "title");
  auto* what =
      new QLabel(tr("The op is no longer a finding. The recording keeps this and the reason; "
                    "you can withdraw it."),
                 dialog);
  what->setWordWrap(true);
  auto* reason = new QLineEdit(dialog);
  reason->setObjectName(QStringLiteral("acceptReason"));
  reason->setPlaceholderText(tr("Why the CPU is fine here, such as: runs only once an epoch"));
  reason->setMaxLength(
      static_cast<int>(wire::kMaxTextBytes / 4));  // UTF-8 needs at most four bytes
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, dialog);
  buttons->button(QDialogButtonBox::Cancel)->setIcon({});  // other buttons have no icon
  QPushButton* accept = buttons->addButton(tr("Accept"), QDialogButtonBox::AcceptRole);
  accept->setObjectName(QStringLiteral("acceptButton"));
  accept->setEnabled(false);
  for (QWidget* widget : {static_cast<QWidget*>(name), static_cast<QWidget*>(what),
                          static_cast<QWidget*>(reason), static_cast<QWidget*>(buttons)}) {
    column->addWidget(widget);
  }
  QObject::connect(reason, &QLineEdit::textChanged, accept, [accept](const QString& text) {
    accept->setEnabled(run::checkReason(text.toStdString()).ok());
  });
  QObject::connect(buttons, &QDialogButtonBox::accepted, dialog, &QDialog::accept);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  QObject::connect(dialog, &QDialog::accepted, parent, [reason, accepted = std::move(accepted)] {
    accepted(reason->text().trimmed());
  });
  dialog->open();
  reason->setFocus();
}

void askForSteps(QWidget* parent, int suggestion, std::function<void(int steps)> accepted) {
  constexpr int kMostSteps = 100'000;
  auto* dialog = new QInputDialog(parent);
  dialog->setObjectName(QStringLiteral("opStepsDialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Record every op"));
  dialog->setLabelText(tr("Number of steps:"));
  dialog->setInputMode(QInputDialog::IntInput);
  dialog->setIntRange(1, kMostSteps);
  dialog->setIntValue(suggestion);
  QObject::connect(dialog, &QInputDialog::intValueSelected, parent, std::move(accepted));
  dialog->open();
}

void askToLiftLimit(QWidget* parent, std::function<void(bool lift)> answered) {
  auto* dialog = new QMessageBox(QMessageBox::Warning, tr("No memory limit"),
                                 tr("Train without a memory limit?"), QMessageBox::Cancel, parent);
  dialog->setObjectName(QStringLiteral("liftLimitDialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setInformativeText(
      tr("With a high watermark of 0 no allocation of the device is refused. The training may "
         "take all memory of the machine, and that may bring the system down."));
  QPushButton* lift = dialog->addButton(tr("Lift the limit"), QMessageBox::DestructiveRole);
  lift->setObjectName(QStringLiteral("liftLimitButton"));
  dialog->setDefaultButton(QMessageBox::Cancel);
  QObject::connect(dialog, &QMessageBox::finished, parent,
                   [dialog, lift, answered = std::move(answered)] {
                     answered(dialog->clickedButton() == lift);
                   });
  dialog->open();
}

namespace {

/// A question with one answer besides Cancel.
struct Question {
  const char *dialog, *button;  ///< names of the objects
  QString title, question, details, action;
  bool isDestructive = false;  ///< then Cancel is what Return chooses
};

QDialog* askBefore(QWidget* parent, const Question& asked, std::function<void()> chosen) {
  auto* dialog = new QMessageBox(asked.isDestructive ? QMessageBox::Warning : QMessageBox::Question,
                                 asked.title, asked.question, QMessageBox::Cancel, parent);
  dialog->setObjectName(QLatin1String(asked.dialog));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setInformativeText(asked.details);
  QPushButton* button = dialog->addButton(
      asked.action, asked.isDestructive ? QMessageBox::DestructiveRole : QMessageBox::AcceptRole);
  button->setObjectName(QLatin1String(asked.button));
  if (asked.isDestructive) {
    dialog->setDefaultButton(QMessageBox::Cancel);
  } else {
    dialog->setDefaultButton(button);
  }
  QObject::connect(button, &QPushButton::clicked, parent,
                   [chosen = std::move(chosen)] { chosen(); });
  dialog->open();
  return dialog;
}

}  // namespace

QDialog* askToLeaveScript(QWidget* parent, const QString& program,
                          std::function<void(ScriptFate fate)> chosen) {
  auto* dialog =
      new QMessageBox(QMessageBox::Question, tr("Close the window"),
                      tr("%1 is still running.").arg(program), QMessageBox::Cancel, parent);
  dialog->setObjectName(QStringLiteral("leaveScriptDialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setInformativeText(tr(
      "It can train on without Highwater; its recording ends now. Or it is stopped at the end of "
      "its step, as by Ctrl+C."));
  QPushButton* leave = dialog->addButton(tr("Let it train on"), QMessageBox::AcceptRole);
  leave->setObjectName(QStringLiteral("leaveScriptButton"));
  QPushButton* stop = dialog->addButton(tr("Stop it"), QMessageBox::DestructiveRole);
  stop->setObjectName(QStringLiteral("stopScriptButton"));
  dialog->setDefaultButton(QMessageBox::Cancel);
  QObject::connect(dialog, &QMessageBox::buttonClicked, parent,
                   [leave, stop, chosen = std::move(chosen)](QAbstractButton* button) {
                     if (button == leave) chosen(ScriptFate::kRunOn);
                     if (button == stop) chosen(ScriptFate::kStop);
                   });
  dialog->open();
  return dialog;
}

QDialog* askToKillScript(QWidget* parent, const QString& program, std::function<void()> chosen) {
  return askBefore(
      parent,
      {.dialog = "killScriptDialog",
       .button = "killScriptButton",
       .title = tr("Kill the program"),
       .question = tr("%1 does not stop.").arg(program),
       .details = tr("It was interrupted as by Ctrl+C, and may ignore that or still "
                     "save its model. Killed, it saves nothing more; what was recorded "
                     "stays."),
       .action = tr("Kill it"),
       .isDestructive = true},
      std::move(chosen));
}

QDialog* askToTryFix(QWidget* parent, const QString& line, bool reads,
                     std::function<void()> chosen) {
  return askBefore(
      parent,
      {.dialog = "tryFixDialog",
       .button = "tryFixStartButton",
       .title = tr("Try it"),
       .question = tr("Train without the waits at %1 for some steps?").arg(line),
       .details =
           reads ? tr("In turns, for ten steps or more each, the line gets the value that it read "
                      "last instead of waiting for a new one; then everything is as before. What "
                      "it prints lags meanwhile. Do not try it where the value decides how the "
                      "training goes on.")
                 : tr("In turns, for ten steps or more each, the line does not wait; then "
                      "everything is as before."),
       .action = tr("Try it"),
       .isDestructive = false},
      std::move(chosen));
}

QDialog* askToSweepScript(QWidget* parent, const QString& program, bool runs,
                          std::function<void()> chosen) {
  return askBefore(
      parent,
      {.dialog = "sweepScriptDialog",
       .button = "sweepScriptButton",
       .title = tr("Sweep"),
       .question = tr("Sweep the batch size of %1?").arg(program),
       .details =
           runs ? tr("It trains on at other batch sizes for some steps each, and then at its own. "
                     "What it learns meanwhile it keeps.")
                : tr("It is started anew, trains at several batch sizes for some steps each, and "
                     "is then interrupted as by Ctrl+C. Files that it writes it writes as in any "
                     "training."),
       .action = tr("Sweep"),
       .isDestructive = false},
      std::move(chosen));
}

}  // namespace highwater::window
