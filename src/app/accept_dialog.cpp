#include "app/accept_dialog.h"

#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/accept_command.h"
#include "wire/limits.h"

namespace highwater::app {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("AcceptDialog", text);
}

}  // namespace

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
      new QLabel(tr("It stops being a finding. The recording keeps this and the reason; it "
                    "can be withdrawn."),
                 dialog);
  what->setWordWrap(true);
  auto* reason = new QLineEdit(dialog);
  reason->setObjectName(QStringLiteral("acceptReason"));
  reason->setPlaceholderText(tr("Why the CPU is fine for it: once an epoch only"));
  reason->setMaxLength(static_cast<int>(wire::kMaxTextBytes / 4));  // in UTF-8 four bytes at most
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, dialog);
  buttons->button(QDialogButtonBox::Cancel)->setIcon({});  // the window's buttons have none
  QPushButton* accept = buttons->addButton(tr("Accept"), QDialogButtonBox::AcceptRole);
  accept->setObjectName(QStringLiteral("acceptButton"));
  accept->setEnabled(false);
  for (QWidget* widget : {static_cast<QWidget*>(name), static_cast<QWidget*>(what),
                          static_cast<QWidget*>(reason), static_cast<QWidget*>(buttons)}) {
    column->addWidget(widget);
  }
  QObject::connect(reason, &QLineEdit::textChanged, accept, [accept](const QString& text) {
    accept->setEnabled(checkReason(text.toStdString()).ok());
  });
  QObject::connect(buttons, &QDialogButtonBox::accepted, dialog, &QDialog::accept);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  QObject::connect(dialog, &QDialog::accepted, parent, [reason, accepted = std::move(accepted)] {
    accepted(reason->text().trimmed());
  });
  dialog->open();
  reason->setFocus();
}

}  // namespace highwater::app
