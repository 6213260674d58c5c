#include "views/panels/chosen_row.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "views/panels/link_button.h"

namespace highwater::views {

ChosenRow::ChosenRow(QWidget* parent)
    : QWidget(parent),
      inUse_(new QLabel(this)),
      apply_(linkButton(tr("Apply"), "applyChosenButton", this)) {
  setObjectName(QStringLiteral("chosenRow"));
  inUse_->setObjectName(QStringLiteral("inUseText"));
  inUse_->setTextFormat(Qt::PlainText);
  inUse_->setProperty("kind", "quiet");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(inUse_);
  row->addWidget(apply_);
  connect(apply_, &QToolButton::clicked, this, &ChosenRow::applied);
  hide();
}

void ChosenRow::showChosen(const QString& value) {
  inUse_->hide();
  apply_->setAccessibleName(tr("Apply %1").arg(value));
  apply_->setToolTip(tr("Use %1 from the next step (Enter)").arg(value));
  apply_->show();
  show();
}

void ChosenRow::showRequested(const QString& inUse, const QString& tip) {
  apply_->hide();
  inUse_->setText(tr("%1 in use").arg(inUse));
  inUse_->setToolTip(tip);
  inUse_->show();
  show();
}

void ChosenRow::clear() {
  hide();
}

}  // namespace highwater::views
