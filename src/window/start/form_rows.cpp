#include "window/start/form_rows.h"

#include <QStyle>

#include "models/plain_tip.h"

namespace highwater::window {
namespace {

constexpr int kRowGap = 7, kGutter = 96, kNote = 200;

}  // namespace

FormRows::FormRows(QGridLayout* grid) : grid_(grid) {
  grid_->setVerticalSpacing(kRowGap);
  grid_->setHorizontalSpacing(8);
  grid_->setColumnMinimumWidth(0, kGutter);
  grid_->setColumnMinimumWidth(3, kNote);
  grid_->setColumnStretch(1, 5);
  grid_->setColumnStretch(3, 3);
}

FormRows::Row FormRows::make(const QString& name, QWidget* widget, QWidget* button,
                             const QString& note, bool narrow) {
  QWidget* parent = grid_->parentWidget();
  Row row;
  row.name = new QLabel(name, parent);
  row.name->setProperty("kind", "quiet");
  row.name->setBuddy(widget);
  row.widget = widget;
  row.button = button;
  row.note = new QLabel(parent);
  row.note->setTextFormat(Qt::PlainText);
  row.note->setWordWrap(true);
  row.note->setFixedHeight(kFieldHeight);
  row.note->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  row.usual = note;
  if (widget->accessibleName().isEmpty()) widget->setAccessibleName(name);
  const int at = row.at = grid_->rowCount();
  grid_->addWidget(row.name, at, 0);
  grid_->addWidget(widget, at, 1, 1, button ? 1 : 2, narrow ? Qt::AlignLeft : Qt::Alignment());
  if (button) grid_->addWidget(button, at, 2);
  grid_->addWidget(row.note, at, 3);
  grid_->setRowMinimumHeight(at, kFieldHeight);
  show(row);
  return row;
}

void FormRows::add(ScriptField field, const QString& name, QWidget* widget, QWidget* button,
                   const QString& note, bool narrow) {
  rows_[field] = make(name, widget, button, note, narrow);
}

QLabel* FormRows::add(const QString& name, QWidget* widget, const QString& note, bool narrow) {
  return make(name, widget, nullptr, note, narrow).note;
}

void FormRows::show(Row& row) {
  const bool wrong = !row.problem.isEmpty() || !row.warning.isEmpty();
  const QString said = !row.problem.isEmpty()   ? row.problem
                       : !row.warning.isEmpty() ? row.warning
                                                : row.usual;
  const QString kind = wrong ? QStringLiteral("wrong") : QStringLiteral("note");
  if (row.note->text() == said && row.note->property("kind").toString() == kind) return;
  row.note->setText(said);
  row.note->setToolTip(models::plainTip(said));
  row.note->setProperty("kind", kind);
  row.note->style()->unpolish(row.note);
  row.note->style()->polish(row.note);
  row.widget->setAccessibleDescription(said);
}

void FormRows::setNote(ScriptField field, const QString& note) {
  rows_.at(field).usual = note;
  show(rows_.at(field));
}

void FormRows::setWarning(ScriptField field, const QString& warning) {
  rows_.at(field).warning = warning;
  show(rows_.at(field));
}

void FormRows::showProblems(const ScriptProblems& problems) {
  for (auto& [field, row] : rows_) {
    const auto found = problems.find(field);
    row.problem = found == problems.end() ? QString() : found->second;
    show(row);
  }
}

QString FormRows::noteOf(ScriptField field) const {
  return rows_.at(field).note->text();
}

void FormRows::setShown(ScriptField field, bool shown) {
  const Row& row = rows_.at(field);
  for (QWidget* each :
       {static_cast<QWidget*>(row.name), row.widget, row.button, static_cast<QWidget*>(row.note)}) {
    if (each) each->setVisible(shown);
  }
  grid_->setRowMinimumHeight(row.at, shown ? kFieldHeight : 0);
}

}  // namespace highwater::window
