#include "views/panels/chosen_row.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "views/panels/link_button.h"

namespace highwater::views {

ChosenRow::ChosenRow(QWidget* parent)
    : QWidget(parent),
      text_(new QLabel(this)),
      apply_(linkButton(tr("Apply"), "applyChosenButton", this)) {
  setObjectName(QStringLiteral("chosenRow"));
  text_->setObjectName(QStringLiteral("chosenText"));
  text_->setTextFormat(Qt::PlainText);
  text_->setProperty("kind", "quiet");
  apply_->setToolTip(tr("Use the chosen value from the next step (Enter)"));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(4);
  row->addWidget(text_);
  row->addStretch(1);
  row->addWidget(apply_);
  connect(apply_, &QToolButton::clicked, this, &ChosenRow::applied);
  hide();
}

void ChosenRow::showValue(const QString& value, bool requested) {
  text_->setText(requested ? tr("%1 from the next step").arg(value) : tr("%1 chosen").arg(value));
  apply_->setVisible(!requested);
  apply_->setAccessibleName(tr("Apply %1").arg(value));
  show();
}

void ChosenRow::clear() {
  hide();
}

}  // namespace highwater::views
