#include "views/panels/search_bar.h"

#include <QAction>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QKeySequence>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QToolButton>

#include "views/desktop_keys.h"
#include "views/icons.h"
#include "views/key_text.h"
#include "views/panels/link_button.h"
#include "views/theme.h"

namespace highwater::views {

using Place = models::SearchModel::Place;

namespace {

constexpr int kTypingMs = 80;  ///< keys that follow each other within it make one search
constexpr int kField = 140, kWideField = 196;

QString placeName(std::size_t place) {
  switch (static_cast<Place>(place)) {
    case Place::kOps:
      return SearchBar::tr("Ops");
    case Place::kModules:
      return SearchBar::tr("Modules");
    case Place::kMarkers:
      return SearchBar::tr("Markers");
    case Place::kCallSites:
      return SearchBar::tr("Call sites");
    case Place::kLog:
      break;
  }
  return SearchBar::tr("Log");
}

}  // namespace

SearchBar::SearchBar(models::SearchModel* search, QWidget* parent)
    : QWidget(parent), search_(search), field_(new QLineEdit(this)) {
  setObjectName(QStringLiteral("searchBar"));
  setAccessibleName(tr("Search"));
  setFixedHeight(kHeight);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 4, 12, 5);
  row->setSpacing(6);
  field_->setObjectName(QStringLiteral("searchField"));
  field_->setAccessibleName(tr("Search for"));
  field_->setPlaceholderText(tr("Search ops, markers, log"));
  field_->setClearButtonEnabled(true);
  field_->setFixedHeight(26);
  glass_ =
      field_->addAction(icon(Icon::kSearch, Theme::of(this).text2), QLineEdit::LeadingPosition);
  field_->installEventFilter(this);
  row->addWidget(field_);
  makeChips();
  row->addStretch(1);
  auto* count = new QHBoxLayout;
  count->setSpacing(3);
  position_ = new QLabel(this);
  position_->setProperty("kind", "value");
  total_ = new QLabel(this);
  total_->setObjectName(QStringLiteral("searchTotal"));
  total_->setProperty("kind", "quiet");
  for (QLabel* label : {position_, total_}) {
    label->setTextFormat(Qt::PlainText);
    count->addWidget(label);
  }
  position_->setObjectName(QStringLiteral("searchPosition"));
  row->addLayout(count);
  makeLinks();
  typing_.setSingleShot(true);
  typing_.setInterval(kTypingMs);
  connect(&typing_, &QTimer::timeout, this, &SearchBar::searchNow);
  connect(field_, &QLineEdit::textChanged, this, [this] { typing_.start(); });
  connect(search_, &models::SearchModel::changed, this, &SearchBar::refresh);
  connect(search_, &models::SearchModel::currentChanged, this, &SearchBar::refresh);
  refresh();
}

void SearchBar::makeChips() {
  for (std::size_t i = 0; i < chips_.size(); ++i) {
    auto* chip = new QToolButton(this);
    chip->setObjectName(QStringLiteral("searchChip%1").arg(i));
    chip->setProperty("kind", "chip");
    chip->setCheckable(true);
    chip->setChecked(true);
    chip->setFixedHeight(24);
    chip->setFocusPolicy(Qt::TabFocus);
    chip->setToolTip(tr("Leave out or show what was found in %1").arg(placeName(i).toLower()));
    layout()->addWidget(chip);
    connect(chip, &QToolButton::toggled, this,
            [this, i](bool on) { search_->setShown(static_cast<Place>(i), on); });
    chips_[i] = chip;
  }
}

void SearchBar::makeLinks() {
  const DesktopKeys keys = desktopKeys();
  const QString next = keyText(keys.nextHit.front()), previous = keyText(keys.previousHit.front());
  struct Link {
    QString text;
    const char* name;
    QString key, tip;
    int direction;  ///< 0: close
  };
  const Link links[] = {
      {tr("Previous"), "previousHitButton", previous,
       tr("Previous hit (%1; Shift+Return in the field, Shift+N elsewhere)").arg(previous), -1},
      {tr("Next"), "nextHitButton", next,
       tr("Next hit (%1; Return in the field, N elsewhere)").arg(next), 1},
      {tr("Close"), "closeSearchButton", tr("Esc"), tr("Close the search (Esc)"), 0}};
  for (const Link& each : links) {
    auto* pair = new QHBoxLayout;
    pair->setSpacing(2);
    QToolButton* button = linkButton(each.text, each.name, this);
    button->setToolTip(each.tip);
    button->setAccessibleName(each.tip);
    button->setFocusPolicy(Qt::TabFocus);
    auto* key = new QLabel(each.key, this);
    key->setProperty("kind", "key");
    pair->addWidget(button);
    pair->addWidget(key);
    static_cast<QHBoxLayout*>(layout())->addLayout(pair);
    keys_ << key;
    links_ << button;
    connect(button, &QToolButton::clicked, this, [this, direction = each.direction] {
      direction == 0 ? emit closeRequested() : emit stepRequested(direction);
    });
  }
}

void SearchBar::startTyping() {
  field_->setFocus(Qt::ShortcutFocusReason);
  field_->selectAll();
}

QString SearchBar::text() const {
  return field_->text();
}

void SearchBar::searchNow() {
  typing_.stop();
  search_->setText(field_->text().trimmed());
}

void SearchBar::refresh() {
  for (std::size_t i = 0; i < chips_.size(); ++i) {
    const std::uint64_t count = search_->count(static_cast<Place>(i));
    chips_[i]->setText(QStringLiteral("%1 %2").arg(placeName(i)).arg(count));
    chips_[i]->setAccessibleName(tr("%1, %2 hits").arg(placeName(i)).arg(count));
  }
  const std::size_t hits = search_->hits().size();
  const auto current = search_->current();
  position_->setVisible(current.has_value());
  position_->setText(current ? QString::number(*current + 1) : QString());
  if (search_->text().isEmpty()) {
    longTotal_ = shortTotal_ = QString();
  } else if (hits == 0) {
    longTotal_ = search_->rowHits() > 0 ? tr("none on the timeline") : tr("nothing found");
    shortTotal_ = search_->rowHits() > 0 ? tr("none in time") : tr("nothing");
  } else {
    shortTotal_ = current ? tr("of %1").arg(hits) : QString::number(hits);
    longTotal_ = tr("%1 on the timeline").arg(shortTotal_);
  }
  links_[0]->setEnabled(hits > 0);
  links_[1]->setEnabled(hits > 0);
  fit();
}

void SearchBar::fit() {
  for (int level = -1; level < 5; ++level) {
    field_->setFixedWidth(level < 0 ? kWideField : kField);
    for (QWidget* key : keys_) key->setVisible(level < 1);
    total_->setText(level < 2 ? longTotal_ : shortTotal_);
    for (std::size_t i = 0; i < chips_.size(); ++i) {
      const bool empty = search_->count(static_cast<Place>(i)) == 0;
      chips_[i]->setVisible(!empty || level < 3);
    }
    links_[0]->setVisible(level < 4);
    links_[1]->setVisible(level < 4);
    layout()->update();  // also what is nested, which hides its parts
    layout()->activate();
    if (layout()->minimumSize().width() <= width()) break;
  }
}

void SearchBar::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit();
}

/// A closed bar must not begin the search for what was typed last.
void SearchBar::hideEvent(QHideEvent* event) {
  if (!event->spontaneous()) typing_.stop();
  QWidget::hideEvent(event);
}

bool SearchBar::eventFilter(QObject* watched, QEvent* event) {
  if (watched == field_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
      searchNow();
      emit stepRequested(key->modifiers().testFlag(Qt::ShiftModifier) ? -1 : 1);
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

void SearchBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    emit closeRequested();
    return;
  }
  QWidget::keyPressEvent(event);
}

void SearchBar::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange && glass_) {
    glass_->setIcon(icon(Icon::kSearch, Theme::of(this).text2));
  }
  QWidget::changeEvent(event);
}

void SearchBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  painter.fillRect(rect(), theme.panel);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme.separator);
}

}  // namespace highwater::views
