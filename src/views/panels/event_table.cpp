#include "views/panels/event_table.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QStyle>
#include <QStyledItemDelegate>
#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/account/time_account.h"
#include "models/compare_model.h"
#include "models/host_time_model.h"
#include "models/op_totals_model.h"
#include "views/panels/copy_actions.h"
#include "views/panels/table_setup.h"
#include "views/panes/paint.h"

namespace highwater::views {
namespace {

constexpr int kTableRow = 24;
constexpr int kShareBarWidth = 44, kShareGap = 8;
const QString kWidestShare = QStringLiteral("100 %");
constexpr int kNumberRoom = 4;    ///< beside a number, as in the header
constexpr int kLastColumn = 200;  ///< most room for the names of places
constexpr int kCellInset = 8;
constexpr int kHeadPadding = 8, kSortArrow = 18;     ///< of a header, as in the style sheet
constexpr int kTextRoom = 34;                        ///< beside a text: inset and glyph
constexpr int kLeastText = 110, kShortestText = 72;  ///< of a column of texts other than the names
constexpr int kMostText = 420;
/// With less for each column, of so many at most, the bars of the shares would take the room of the
/// names.
constexpr int kRoomForBars = 100, kColumnsWithBars = 6;

bool roomForBars(const QWidget* widget) {
  const auto* table = qobject_cast<const QTableView*>(widget);
  if (!table || !table->model()) return false;
  return table->width() >= kRoomForBars * std::min(table->model()->columnCount(), kColumnsWithBars);
}

/// Paints the op and share cells.
class OpDelegate final : public QStyledItemDelegate {
 public:
  OpDelegate(EventTable::Kind kind, bool share, QObject* parent)
      : QStyledItemDelegate(parent), kind_(kind), share_(share) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const Theme& theme = Theme::of(option.widget);
    painter->save();
    paintRowGround(*painter, option, /*isFirst=*/!share_);
    const bool planned = index.data(models::OpTotalsModel::kDeliberateRole).toBool();
    const bool fallback = isFallback(index);
    const QColor color = fallback        ? theme.vermillion
                         : isWork(index) ? theme.neutralBar
                         : planned       ? theme.sky
                                         : theme.orange;
    share_&& kind_ == EventTable::Kind::kCompared ? paintChange(*painter, option, index, theme)
    : share_ ? paintShare(*painter, option, index, color, theme)
             : paintOp(*painter, option, index, color, planned, theme);
    painter->restore();
  }

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const QSize hint = QStyledItemDelegate::sizeHint(option, index);
    if (!share_ || kind_ == EventTable::Kind::kCompared) return hint;
    const int text = QFontMetrics(textFont(kText)).horizontalAdvance(kWidestShare);
    const int bar = roomForBars(option.widget) ? kShareBarWidth + kShareGap : 0;
    return {kShareGap + bar + text + kShareGap, hint.height()};
  }

 private:
  [[nodiscard]] static analysis::Activity activityOf(const QModelIndex& index) {
    return static_cast<analysis::Activity>(
        index.data(models::HostTimeModel::kActivityRole).toInt());
  }

  [[nodiscard]] bool isWork(const QModelIndex& index) const {
    return kind_ == EventTable::Kind::kOps ||
           (kind_ == EventTable::Kind::kHostTime && activityOf(index) != analysis::Activity::Wait);
  }

  [[nodiscard]] bool isFallback(const QModelIndex& index) const {
    return kind_ == EventTable::Kind::kFallbacks ||
           (kind_ == EventTable::Kind::kHostTime &&
            activityOf(index) == analysis::Activity::Fallback) ||
           (kind_ == EventTable::Kind::kCompared &&
            index.data(models::OpTotalsModel::kKindRole).toInt() ==
                static_cast<int>(events::SyncKind::None));
  }

  /// The noise as a band around zero, the change as a bar from zero; a hollow dot within the noise.
  static void paintChange(QPainter& painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index, const Theme& theme) {
    const QRect cell = option.rect.adjusted(8, 0, -12, 0);
    painter.setFont(textFont(kText));
    painter.setPen(theme.text3);
    const QString noise = index.data().toString();
    painter.drawText(cell, Qt::AlignLeft | Qt::AlignVCenter, noise);
    const double left =
        cell.left() + painter.fontMetrics().horizontalAdvance(QStringLiteral("± 10000.0")) + 8;
    const double half = std::min((cell.right() - left) / 2, 80.0);
    if (half < 16) {
      return;
    }
    const double zero = std::round(left + half), middle = cell.center().y() + 0.5;
    const double change = index.data(models::OpTotalsModel::kShareRole).toDouble() * half;
    const double band = index.data(models::CompareModel::kNoiseRole).toDouble() * half;
    if (!std::isnan(band)) {
      painter.fillRect(QRectF(zero - band, middle - 6, 2 * band + 1, 12), theme.track);
    }
    if (index.data(models::CompareModel::kBeyondRole).toBool()) {
      painter.fillRect(QRectF(std::min(zero, zero + change), middle - 4, std::abs(change), 8),
                       theme.neutralBar);
    }
    painter.fillRect(QRectF(zero, middle - 8, 1, 16), theme.text2);
    if (!index.data(models::CompareModel::kBeyondRole).toBool()) {
      painter.setRenderHint(QPainter::Antialiasing);
      painter.setPen(QPen(theme.text2, 1));
      painter.setBrush(theme.panel);
      painter.drawEllipse(QPointF(zero + change, middle), 3, 3);
      painter.setRenderHint(QPainter::Antialiasing, false);
    }
  }

  void paintShare(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index,
                  const QColor& color, const Theme& theme) const {
    const QRect cell = option.rect.adjusted(0, 0, -kShareGap, 0);
    const QString text = index.data().toString();
    painter.setFont(textFont(kText));
    const int textWidth = painter.fontMetrics().horizontalAdvance(kWidestShare);
    const QRect bar(cell.right() - textWidth - kShareGap - kShareBarWidth, cell.center().y() - 4,
                    kShareBarWidth, 8);
    if (roomForBars(option.widget)) {
      painter.fillRect(bar, theme.track);
      const double share =
          std::clamp(index.data(models::OpTotalsModel::kShareRole).toDouble(), 0., 1.);
      painter.fillRect(QRectF(bar.left(), bar.top(),
                              std::max(bar.width() * share, share > 0 ? 1. : 0.), bar.height()),
                       color);
    }
    painter.setPen(theme.text1);
    painter.drawText(cell, Qt::AlignRight | Qt::AlignVCenter, text);
  }

  void paintOp(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index,
               const QColor& color, bool planned, const Theme& theme) const {
    QRect cell = option.rect.adjusted(12, 0, -4, 0);
    if (kind_ != EventTable::Kind::kFallbacks && kind_ != EventTable::Kind::kOps) {
      drawGlyph(painter,
                isFallback(index) ? Glyph::kDiamond
                : isWork(index)   ? Glyph::kSquare
                : planned         ? Glyph::kHollowTriangle
                                  : Glyph::kTriangle,
                {cell.left() + 5.0, cell.center().y() + 0.5}, color, theme.panel);
      cell.adjust(18, 0, 0, 0);
    }
    painter.setFont(textFont(kText));
    if (index.data(models::OpTotalsModel::kAcceptedRole).toBool()) {
      const QString word = EventTable::tr("accepted");
      painter.setPen(theme.text2);
      painter.drawText(cell, Qt::AlignVCenter | Qt::AlignRight, word);
      cell.adjust(0, 0, -painter.fontMetrics().horizontalAdvance(word) - 8, 0);
    }
    painter.setPen(theme.text1);
    painter.drawText(
        cell, Qt::AlignVCenter,
        painter.fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, cell.width()));
  }

  EventTable::Kind kind_;
  bool share_;
};

/// What of a cell's text is the link: the line of code before the place.
QString linkText(const QString& text) {
  return text.section(QLatin1Char(','), 0, 0);
}

/// Paints the cells of places, with the line of code as a link.
class LinkDelegate final : public QStyledItemDelegate {
 public:
  LinkDelegate(std::function<bool(const QModelIndex&)> isLink, QObject* parent)
      : QStyledItemDelegate(parent), isLink_(std::move(isLink)) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    if (!isLink_(index)) {
      QStyledItemDelegate::paint(painter, option, index);
      return;
    }
    const Theme& theme = Theme::of(option.widget);
    painter->save();
    paintRowGround(*painter, option, /*isFirst=*/false);
    painter->setFont(textFont(kText));
    const QString text = index.data().toString(), link = linkText(text);
    const QFontMetrics metrics = painter->fontMetrics();
    QRect cell = option.rect.adjusted(kCellInset, 0, -kCellInset, 0);
    painter->setPen(theme.accent);
    painter->drawText(cell, Qt::AlignVCenter,
                      metrics.elidedText(link, Qt::ElideMiddle, cell.width()));
    cell.adjust(metrics.horizontalAdvance(link), 0, 0, 0);
    if (cell.width() > 0) {
      painter->setPen(theme.text1);
      painter->drawText(cell, Qt::AlignVCenter,
                        metrics.elidedText(text.mid(link.size()), Qt::ElideRight, cell.width()));
    }
    painter->restore();
  }

 private:
  std::function<bool(const QModelIndex&)> isLink_;
};

}  // namespace

EventTable::EventTable(QWidget* parent) : QTableView(parent) {
  setUpTable(*this, kTableRow, kTableRow);
  setHorizontalScrollMode(ScrollPerPixel);
  horizontalHeader()->setStretchLastSection(true);
  horizontalHeader()->setMinimumSectionSize(40);
  connect(horizontalHeader(), &QHeaderView::sortIndicatorChanged, this, [this](int column) {
    fitNumbers();
    // Where the user has chosen widths, only the arrow gets its room.
    if (!canMeasure() || column < 0 || column >= model()->columnCount()) return;
    widening_ = true;
    setColumnWidth(column, std::max(columnWidth(column), headWidth(column)));
    widening_ = false;
  });
  horizontalHeader()->setResizeContentsPrecision(0);  // only rows in view
  setSortingEnabled(true);
  addCopyActions(this);
}

void EventTable::setModel(QAbstractItemModel* model) {
  sorted_.setSourceModel(model);
  if (this->model() == &sorted_) {
    return;
  }
  QTableView::setModel(&sorted_);
  connect(&sorted_, &QAbstractItemModel::modelReset, this, &EventTable::fitNumbers);
  connect(&sorted_, &QAbstractItemModel::dataChanged, this, &EventTable::fitNumbers);
  connect(&sorted_, &QAbstractItemModel::layoutChanged, this, &EventTable::fitNumbers);
  connect(&sorted_, &QAbstractItemModel::rowsInserted, this, &EventTable::fitNumbers);
  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& current) {
            if (!marking_ && current.isValid()) {
              emit rowPicked(sorted_.mapToSource(current).row());
            }
          });
}

void EventTable::setEmptyText(const QString& text) {
  if (emptyText_ != text) {
    emptyText_ = text;
    viewport()->update();
  }
}

void EventTable::setNaturalOrder(int column, Qt::SortOrder order) {
  sorted_.setNaturalOrder(column, order);
  sortByColumn(column, order);
}

void EventTable::setFilter(const QString& text) {
  filter_ = text;
  // When the filter hides the current row, Qt selects a neighbour, which the user did not pick.
  const QModelIndex current = currentIndex();
  const int picked = current.isValid() ? sorted_.mapToSource(current).row() : -1;
  marking_ = true;
  sorted_.setFilter(text);
  marking_ = false;
  markRow(picked);
  viewport()->update();
}

void EventTable::setColumnWidths(const QList<int>& widths) {
  widening_ = true;
  for (int i = 0; i < widths.size(); ++i) {
    setColumnWidth(i, widths[i]);
  }
  widening_ = false;
  widths_ = widths;
  leastNameWidth_ = nameColumn_ < 0 ? 0 : columnWidth(nameColumn_);
  widenNames();
}

void EventTable::setEvenColumns() {
  evenColumns_ = true;
  fitEvenColumns();
}

void EventTable::fitBars() {
  const bool bars = roomForBars(this);
  if (bars == hasBars_ || shareColumn_ < 0 || leastNameWidth_ == 0 || !canMeasure()) return;
  hasBars_ = bars;
  widening_ = true;
  setColumnWidth(shareColumn_, std::max(headWidth(shareColumn_), sizeHintForColumn(shareColumn_)));
  widening_ = false;
  fitNumbers();
}

bool EventTable::isNumber(int column) const {
  const QVariant alignment = model()->index(0, column).data(Qt::TextAlignmentRole);
  return (alignment.toInt() & Qt::AlignRight) != 0;
}

/// Qt measures the rows in view, but every row of a table that is not visible: for the steps of an
/// hour that took half a second.
bool EventTable::canMeasure() const {
  return model() && isVisible();
}

/// Qt's own hint counts bold letters and a sort arrow in every header, which in a small window
/// takes the room of the names.
int EventTable::headWidth(int column) const {
  const QString text = model()->headerData(column, Qt::Horizontal).toString();
  const bool sorted = horizontalHeader()->sortIndicatorSection() == column;
  const int margin = style()->pixelMetric(QStyle::PM_HeaderMargin, nullptr, horizontalHeader());
  return horizontalHeader()->fontMetrics().horizontalAdvance(text) + 2 * (kHeadPadding + margin) +
         (sorted ? kSortArrow : 0);
}

void EventTable::fitEvenColumns() {
  if (!evenColumns_ || !canMeasure()) {
    return;
  }
  const int count = model()->columnCount();
  std::vector<int> needed(static_cast<std::size_t>(count));
  int sum = 0, widest = 0;
  for (int i = 0; i < count; ++i) {
    int& of = needed[static_cast<std::size_t>(i)];
    of = std::max(sizeHintForColumn(i) + kNumberRoom, headWidth(i));
    sum += of;
    widest = std::max(widest, of);
  }
  const int each = viewport()->width() / count;
  const int spare = std::max(viewport()->width() - sum, 0) / count;
  widening_ = true;
  for (int i = 0; i < count; ++i) {
    const int width = widest <= each ? each : needed[static_cast<std::size_t>(i)] + spare;
    if (columnWidth(i) != width) setColumnWidth(i, width);
  }
  widening_ = false;
}

void EventTable::fitNumbers() {
  fitEvenColumns();
  if (leastNameWidth_ == 0 || !canMeasure() || model()->rowCount() == 0) {
    return;
  }
  for (int i = 0; i + 1 < model()->columnCount(); ++i) {
    const int wanted = i == nameColumn_ || !isNumber(i)
                           ? 0
                           : std::max(sizeHintForColumn(i) + kNumberRoom, headWidth(i));
    if (wanted > columnWidth(i)) {
      widening_ = true;
      setColumnWidth(i, wanted);
      widening_ = false;
    }
  }
  widenNames();
}

/// The columns of texts share what the numbers leave: each gets what its texts need, the names
/// first, and then the rest.
void EventTable::widenNames() {
  if (leastNameWidth_ == 0 || !canMeasure() || model()->rowCount() == 0) {
    return;
  }
  const int last = model()->columnCount() - 1;
  const int ofLast = isNumber(last)
                         ? std::max(headWidth(last), sizeHintForColumn(last) + kNumberRoom)
                         : std::clamp(sizeHintForColumn(last) + kTextRoom, kLeastText, kLastColumn);
  int free = viewport()->width() - ofLast;
  QList<int> texts{nameColumn_};
  for (int i = 0; i < last; ++i) {
    if (i == nameColumn_) continue;
    isNumber(i) ? void(free -= columnWidth(i)) : texts.append(i);
  }
  QList<int> widths, wanted;
  for (const int column : texts) {
    const int initial = widths_.value(column, leastNameWidth_);
    wanted << std::min(sizeHintForColumn(column) + kTextRoom, kMostText);
    widths << (column == nameColumn_ ? initial : std::min({initial, wanted.back(), kLeastText}));
    free -= widths.back();
  }
  // Numbers are never cut: where there is no room, texts give way, the names last.
  for (qsizetype i = texts.size() - 1; i >= 0 && free < 0; --i) {
    const int less = std::clamp(widths[i] - kShortestText, 0, -free);
    widths[i] -= less;
    free += less;
  }
  for (int i = 0; i < texts.size(); ++i) {
    const int more = std::clamp(wanted[i] - widths[i], 0, std::max(free, 0));
    widths[i] += more;
    free -= more;
  }
  const int named = std::clamp(2 * leastNameWidth_ - widths[0], 0, std::max(free, 0));
  widths[0] += named;
  // Numbers stand together at the right, not one of them apart.
  if (isNumber(last)) widths.back() += std::max(free - named, 0);
  widening_ = true;
  for (int i = 0; i < texts.size(); ++i) setColumnWidth(texts[i], widths[i]);
  setColumnWidth(last, ofLast);  // it is stretched, but does not shrink by itself
  widening_ = false;
}

void EventTable::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  fitBars();
  fitEvenColumns();
  widenNames();
}

void EventTable::showEvent(QShowEvent* event) {
  QTableView::showEvent(event);
  fitBars();
  fitNumbers();
}

void EventTable::setOpLook(Kind kind, int opColumn, int shareColumn) {
  nameColumn_ = opColumn;
  shareColumn_ = kind == Kind::kCompared ? -1 : shareColumn;
  connect(horizontalHeader(), &QHeaderView::sectionResized, this, [this](int column) {
    if (!widening_ && model() && column + 1 < model()->columnCount()) {
      leastNameWidth_ = 0;  // the user has chosen a width
    }
  });
  setItemDelegateForColumn(opColumn, new OpDelegate(kind, false, this));
  setItemDelegateForColumn(shareColumn, new OpDelegate(kind, true, this));
}

void EventTable::setLinks(int column, std::function<bool(const QModelIndex&)> isLink) {
  linkColumn_ = column;
  isLink_ = std::move(isLink);
  setItemDelegateForColumn(column, new LinkDelegate(isLink_, this));
  setMouseTracking(true);
}

QModelIndex EventTable::linkAt(const QPoint& position) const {
  const QModelIndex cell = indexAt(position);
  if (!cell.isValid() || cell.column() != linkColumn_ || !isLink_(cell)) {
    return {};
  }
  const QString link = linkText(cell.data().toString());
  const int wide = QFontMetrics(textFont(kText)).horizontalAdvance(link);
  const int x = position.x() - visualRect(cell).left() - kCellInset;
  return x >= 0 && x <= wide ? cell : QModelIndex();
}

void EventTable::mouseMoveEvent(QMouseEvent* event) {
  linkAt(event->pos()).isValid() ? viewport()->setCursor(Qt::PointingHandCursor)
                                 : viewport()->unsetCursor();
  QTableView::mouseMoveEvent(event);
}

void EventTable::mouseReleaseEvent(QMouseEvent* event) {
  QTableView::mouseReleaseEvent(event);
  if (event->button() == Qt::LeftButton) {
    if (const QModelIndex cell = linkAt(event->pos()); cell.isValid()) {
      emit linkClicked(cell);
    }
  }
}

void EventTable::markRow(int row) {
  const QModelIndex wanted =
      row < 0 ? QModelIndex() : sorted_.mapFromSource(sorted_.sourceModel()->index(row, 0));
  if (wanted.row() == currentIndex().row()) {
    return;
  }
  marking_ = true;
  if (!wanted.isValid()) {
    clearSelection();
    setCurrentIndex({});
  } else {
    selectRow(wanted.row());
    scrollTo(wanted);
  }
  marking_ = false;
}

void EventTable::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
    case Qt::Key_Home:
    case Qt::Key_End:
      QTableView::keyPressEvent(event);
      break;
    default:
      event->ignore();  // the window handles its shortcuts
  }
}

void EventTable::paintEvent(QPaintEvent* event) {
  QTableView::paintEvent(event);
  const bool filtered = sorted_.sourceModel() && sorted_.sourceModel()->rowCount() > 0;
  const QString text =
      filtered ? tr("No row has \u201c%1\u201d in its name or place").arg(filter_) : emptyText_;
  if (model() && model()->rowCount() == 0 && !text.isEmpty()) {
    QPainter painter(viewport());
    painter.setFont(textFont(kText));
    painter.setPen(Theme::of(this).text3);
    painter.drawText(viewport()->rect().adjusted(12, 8, -12, -8),
                     Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, text);
  }
}

}  // namespace highwater::views
