#include "window/try_knob_dialog.h"

#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <utility>

#include "models/qt_text.h"
#include "run/tried_knob.h"
#include "window/tr.h"

namespace highwater::window {
namespace {

QLabel* wrapped(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  return label;
}

/// Offers the values of the chosen knob: all of them, or room to write one.
void showValues(const run::KnobToTry& knob, QComboBox* values) {
  values->clear();
  values->setEditable(knob.others.empty());
  for (const std::string& each : knob.others) values->addItem(text(each));
  if (values->lineEdit()) values->lineEdit()->setPlaceholderText(tr("another number"));
}

}  // namespace

QDialog* askToTryKnob(
    QWidget* parent, const analysis::LiveStore& store,
    std::function<void(const std::string& knob, const std::string& value)> chosen) {
  auto* dialog = new QDialog(parent);
  dialog->setObjectName(QStringLiteral("tryKnobDialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Try a knob"));
  dialog->setMinimumWidth(440);
  auto* column = new QVBoxLayout(dialog);
  column->setContentsMargins(16, 16, 16, 16);
  column->addWidget(
      wrapped(tr("Measures what another value gains: some steps have it and some have not, in "
                 "turns of ten or more; then everything is as before. What is trained meanwhile is "
                 "kept."),
              dialog));
  const std::vector<run::KnobToTry> all = run::knobsToTry(store);
  auto *knobs = new QComboBox(dialog), *values = new QComboBox(dialog);
  knobs->setObjectName(QStringLiteral("tryKnobName"));
  values->setObjectName(QStringLiteral("tryKnobValue"));
  for (const run::KnobToTry& each : all) knobs->addItem(text(each.name));
  QLabel *now = new QLabel(dialog), *problem = wrapped({}, dialog);
  now->setTextFormat(Qt::PlainText);
  problem->setObjectName(QStringLiteral("tryKnobProblem"));
  auto* form = new QFormLayout;
  form->addRow(tr("Knob:"), knobs);
  form->addRow(tr("Now:"), now);
  form->addRow(tr("Try:"), values);
  column->addLayout(form);
  column->addWidget(problem);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, dialog);
  buttons->button(QDialogButtonBox::Cancel)->setIcon({});  // other buttons have no icon
  QPushButton* start = buttons->addButton(tr("Try it"), QDialogButtonBox::AcceptRole);
  start->setObjectName(QStringLiteral("tryKnobStartButton"));
  start->setDefault(true);
  column->addWidget(buttons);

  // A choice may be blank.
  const auto valueOf = [values] {
    const QString value = values->currentText();
    return (values->isEditable() ? value.trimmed() : value).toStdString();
  };
  const auto check = [&store, knobs, values, problem, start, valueOf] {
    const std::string value = valueOf();
    const auto tried = run::triedKnobOf(store, knobs->currentText().toStdString(), value);
    start->setEnabled(tried.ok());
    const bool isUnwritten = values->isEditable() && value.empty();
    problem->setText(tried.ok() || isUnwritten ? QString() : text(tried.error().message));
  };
  const auto choose = [all, now, values, check](int index) {
    if (index < 0) return;
    const run::KnobToTry& knob = all[static_cast<std::size_t>(index)];
    now->setText(text(knob.now));
    showValues(knob, values);
    check();
  };
  QObject::connect(knobs, &QComboBox::currentIndexChanged, dialog, choose);
  QObject::connect(values, &QComboBox::currentTextChanged, dialog, check);
  choose(knobs->currentIndex());
  QObject::connect(buttons, &QDialogButtonBox::accepted, dialog, &QDialog::accept);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  QObject::connect(dialog, &QDialog::accepted, parent,
                   [knobs, valueOf, chosen = std::move(chosen)] {
                     chosen(knobs->currentText().toStdString(), valueOf());
                   });
  dialog->open();
  values->setFocus();
  return dialog;
}

}  // namespace highwater::window
