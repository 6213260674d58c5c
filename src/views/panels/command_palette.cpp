#include "views/panels/command_palette.h"

#include <QAction>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMenuBar>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "views/theme.h"

namespace highwater::views {

using models::CommandList;

namespace {

constexpr int kPaletteWidth = 520, kPaletteRow = 26, kPaletteRows = 12, kPaletteTop = 96;

/// The text of an action as people read it: without mnemonics and dots.
QString plainName(const QAction* action) {
  QString name = action->text();
  name.replace(QStringLiteral("&&"), QStringLiteral("\x01"))
      .remove(QLatin1Char('&'))
      .replace(QLatin1Char('\x01'), QLatin1Char('&'));
  return name;
}

class CommandDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override {
    return {kPaletteWidth, kPaletteRow};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const Theme& theme = Theme::of(option.widget);
    const bool enabled = index.data(CommandList::kEnabledRole).toBool();
    const bool selected = option.state & QStyle::State_Selected;
    painter->save();
    painter->fillRect(option.rect, selected ? theme.selectedRow : theme.header);
    QRect line = option.rect.adjusted(12, 0, -12, 0);
    painter->setFont(textFont(kText));
    if (index.data(CommandList::kCheckedRole).toBool()) {
      painter->setPen(theme.text2);
      painter->drawText(line, Qt::AlignVCenter, QStringLiteral("✓"));
    }
    line.adjust(16, 0, 0, 0);
    line = paintKey(*painter, line, index.data(CommandList::kKeyRole).toString(), theme);
    paintName(*painter, line, index, enabled ? theme.text1 : theme.text3, theme);
    painter->restore();
  }

 private:
  /// Returns what is left of the line.
  static QRect paintKey(QPainter& painter, const QRect& line, const QString& key,
                        const Theme& theme) {
    if (key.isEmpty()) return line;
    painter.setFont(textFont(kSmallText));
    const int wide = painter.fontMetrics().horizontalAdvance(key) + 10;
    const QRect cap(line.right() - wide + 1, line.center().y() - 8, wide, 17);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(theme.controlBorder);
    painter.setBrush(theme.control);
    painter.drawRoundedRect(QRectF(cap).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(theme.text2);
    painter.drawText(cap, Qt::AlignCenter, key);
    return line.adjusted(0, 0, -wide - 12, 0);
  }

  static void paintName(QPainter& painter, const QRect& line, const QModelIndex& index,
                        const QColor& color, const Theme& theme) {
    painter.setFont(textFont(kText));
    const QFontMetrics metrics(painter.font());
    const QString name = metrics.elidedText(index.data().toString(), Qt::ElideRight, line.width());
    painter.setPen(color);
    painter.drawText(line, Qt::AlignVCenter, name);
    const int foot = line.center().y() + metrics.height() / 2;
    for (const int at : index.data(CommandList::kFitRole).value<QList<int>>()) {
      if (at >= name.size()) continue;
      const int left = line.left() + metrics.horizontalAdvance(name.left(at));
      const int right = line.left() + metrics.horizontalAdvance(name.left(at + 1));
      painter.fillRect(left, foot, right - left, 1, theme.accent);
    }
    const QString path = index.data(CommandList::kPathRole).toString();
    const int wide = metrics.horizontalAdvance(name) + 12;
    painter.setPen(theme.text3);
    painter.setFont(textFont(kSmallText));
    painter.drawText(line.adjusted(wide, 0, 0, 0), Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(path, Qt::ElideRight, line.width() - wide));
  }
};

}  // namespace

CommandPalette::CommandPalette(QWidget* window)
    : QFrame(window, Qt::Popup),
      window_(window),
      field_(new QLineEdit(this)),
      list_(new QListView(this)),
      nothing_(new QLabel(list_)) {
  setObjectName(QStringLiteral("commandPalette"));
  setAccessibleName(tr("Commands"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 8, 8, 8);
  column->setSpacing(6);
  field_->setObjectName(QStringLiteral("paletteField"));
  field_->setAccessibleName(tr("Filter of the commands"));
  field_->setPlaceholderText(tr("Type a command"));
  field_->setFixedHeight(28);
  list_->setObjectName(QStringLiteral("paletteList"));
  list_->setAccessibleName(tr("Commands"));
  list_->setModel(&commands_);
  list_->setItemDelegate(new CommandDelegate(list_));
  list_->setFocusPolicy(Qt::NoFocus);  // keys go through the field
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setMouseTracking(true);
  list_->setUniformItemSizes(true);
  nothing_->setObjectName(QStringLiteral("paletteNothing"));
  nothing_->setProperty("kind", "quiet");
  nothing_->setTextFormat(Qt::PlainText);
  nothing_->setWordWrap(true);
  nothing_->setContentsMargins(28, 6, 12, 6);
  column->addWidget(field_);
  column->addWidget(list_);
  field_->installEventFilter(this);
  setFocusProxy(field_);
  connect(field_, &QLineEdit::textChanged, this, [this](const QString& typed) {
    commands_.setFilter(typed);
    choose(0);
    showWhetherAnyFits();
  });
  connect(list_, &QListView::clicked, this, &CommandPalette::run);
}

void CommandPalette::collect(const QList<QAction*>& actions, const QString& path) {
  for (QAction* action : actions) {
    const QString name = plainName(action);
    if (action->isSeparator() || !action->isVisible() || name.isEmpty()) continue;
    if (const QMenu* menu = action->menu()) {
      collect(menu->actions(), path.isEmpty() ? name : path + QStringLiteral(" › ") + name);
      continue;
    }
    // "For the next run:" is the caption of a group.
    if (actions_.contains(action) || name.endsWith(QLatin1Char(':'))) continue;
    collected_.push_back({name, path, action->shortcut().toString(QKeySequence::NativeText),
                          action->isEnabled(), action->isCheckable() && action->isChecked(),
                          action->property(kSynonyms).toString()});
    actions_ << action;
  }
}

void CommandPalette::open(const QMenuBar* menus) {
  actions_.clear();
  collected_.clear();
  collect(menus->actions(), {});
  collect(window_->actions(), {});
  commands_.setCommands(std::move(collected_));
  field_->clear();
  choose(0);
  const int wide = std::min(kPaletteWidth, window_->width() - 32);
  const int rows = std::min(
      {kPaletteRows, commands_.rowCount(), (window_->height() - kPaletteTop - 80) / kPaletteRow});
  list_->setFixedHeight(std::max(rows, 3) * kPaletteRow + 2);
  setFixedWidth(wide);
  adjustSize();
  move(window_->mapToGlobal(QPoint((window_->width() - wide) / 2, kPaletteTop)));
  show();
  field_->setFocus(Qt::PopupFocusReason);
  showWhetherAnyFits();
}

void CommandPalette::showWhetherAnyFits() {
  const bool none = commands_.rowCount() == 0;
  nothing_->setText(none ? tr("No command fits “%1”").arg(field_->text().trimmed()) : QString());
  nothing_->setFixedWidth(list_->viewport()->width());
  nothing_->adjustSize();
  nothing_->setVisible(none);
}

void CommandPalette::choose(int row) {
  const int last = commands_.rowCount() - 1;
  list_->setCurrentIndex(commands_.index(std::clamp(row, 0, std::max(last, 0))));
}

void CommandPalette::run(const QModelIndex& index) {
  if (!index.isValid()) return;
  const QPointer<QAction> action = actions_.value(index.data(CommandList::kIndexRole).toInt());
  if (!action || !action->isEnabled()) return;
  // First: the command may open a dialog.
  hide();
  action->trigger();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched != field_ || event->type() != QEvent::KeyPress) {
    return QFrame::eventFilter(watched, event);
  }
  const int row = list_->currentIndex().row();
  switch (static_cast<QKeyEvent*>(event)->key()) {
    case Qt::Key_Down:
      choose(row + 1);
      return true;
    case Qt::Key_Up:
      choose(row - 1);
      return true;
    case Qt::Key_PageDown:
      choose(row + kPaletteRows - 1);
      return true;
    case Qt::Key_PageUp:
      choose(row - kPaletteRows + 1);
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      run(list_->currentIndex());
      return true;
    case Qt::Key_Escape:
      hide();
      return true;
    default:
      return false;
  }
}

}  // namespace highwater::views
