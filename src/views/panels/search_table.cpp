#include "views/panels/search_table.h"

#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>
#include <cmath>

#include "models/search_model.h"
#include "views/panels/event_table.h"
#include "views/panels/table_setup.h"
#include "views/panes/paint.h"

namespace highwater::views {

using models::SearchModel;
using Place = SearchModel::Place;

namespace {

constexpr double kGlyphRoom = 18;

/// Paints the column of the matches.
class MatchDelegate final : public QStyledItemDelegate {
 public:
  MatchDelegate(const SearchModel* search, QObject* parent)
      : QStyledItemDelegate(parent), search_(search) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const Theme& theme = Theme::of(option.widget);
    const bool selected = option.state & QStyle::State_Selected;
    painter->save();
    paintRowGround(*painter, option, /*isFirst=*/true);
    QRectF cell = QRectF(option.rect).adjusted(12, 0, -4, 0);
    paintGlyph(*painter, {cell.left() + 5, cell.center().y() + 0.5}, index, theme);
    cell.adjust(kGlyphRoom, 0, 0, 0);
    paintText(*painter, cell, index, theme, selected);
    painter->restore();
  }

 private:
  static void paintGlyph(QPainter& painter, QPointF centre, const QModelIndex& index,
                         const Theme& theme) {
    switch (static_cast<Place>(index.data(SearchModel::kPlaceRole).toInt())) {
      case Place::kOps:
        paintOpGlyph(painter, centre, index, theme);
        return;
      case Place::kMarkers: {
        const auto kind =
            static_cast<events::MarkerKind>(index.data(SearchModel::kMarkerKindRole).toInt());
        drawGlyph(painter, markerGlyph(kind), centre, markerColor(kind, theme), theme.panel);
        return;
      }
      case Place::kLog:
        painter.setPen(QPen(theme.text2, 1.3));
        painter.setRenderHint(QPainter::Antialiasing);
        painter.drawPolyline(
            QPolygonF{centre + QPointF(-4, -3), centre + QPointF(-1, 0), centre + QPointF(-4, 3)});
        painter.drawLine(centre + QPointF(0, 3.5), centre + QPointF(4, 3.5));
        return;
      case Place::kModules:
      case Place::kCallSites:
        for (const int y : {-3, 0, 3}) {
          painter.fillRect(QRectF(centre.x() - 4, std::floor(centre.y()) + y, 8, 1), theme.text2);
        }
    }
  }

  static void paintOpGlyph(QPainter& painter, QPointF centre, const QModelIndex& index,
                           const Theme& theme) {
    switch (static_cast<analysis::FoundEvent>(index.data(SearchModel::kEventRole).toInt())) {
      case analysis::FoundEvent::kFallback:
        drawGlyph(painter, Glyph::kDiamond, centre, theme.vermillion, theme.panel);
        return;
      case analysis::FoundEvent::kSyncPoint: {
        const bool planned = index.data(SearchModel::kPlannedRole).toBool();
        drawGlyph(painter, planned ? Glyph::kHollowTriangle : Glyph::kTriangle, centre,
                  planned ? theme.sky : theme.orange, theme.panel);
        return;
      }
      default:
        painter.fillRect(QRectF(centre.x() - 4, std::floor(centre.y()) - 3, 8, 6),
                         theme.neutralBar);
    }
  }

  /// The found part stands underlined on the selected row's colour.
  void paintText(QPainter& painter, const QRectF& cell, const QModelIndex& index,
                 const Theme& theme, bool selected) const {
    painter.setFont(textFont(kText));
    const QFontMetricsF metrics(painter.font());
    const QString full = index.data().toString();
    const QString text = metrics.elidedText(full, Qt::ElideRight, cell.width());
    const auto from = index.data(SearchModel::kFoundAtRole).toInt();
    const auto to = std::min<qsizetype>(from + search_->text().size(), text.size());
    if (from >= 0 && from < to) {
      const double left = cell.left() + metrics.horizontalAdvance(text.left(from));
      const double right = cell.left() + metrics.horizontalAdvance(text.left(to));
      const double foot = std::floor(cell.center().y() + metrics.height() / 2);
      if (!selected) {
        painter.fillRect(QRectF(left, foot - metrics.height(), right - left, metrics.height()),
                         theme.selectedRow);
      }
      painter.fillRect(QRectF(left, foot - 1, right - left, 1), theme.accent);
    }
    painter.setPen(theme.text1);
    painter.drawText(cell, Qt::AlignVCenter, text);
  }

  const SearchModel* search_;
};

}  // namespace

EventTable* makeSearchTable(SearchModel* search, QWidget* parent) {
  auto* table = new EventTable(parent);
  table->setObjectName(QStringLiteral("searchTable"));
  table->setAccessibleName(EventTable::tr("What the search has found"));
  table->setModel(search);
  table->setItemDelegateForColumn(SearchModel::kMatch, new MatchDelegate(search, table));
  table->setColumnWidths({220, 190, 60});
  table->sortByColumn(-1, Qt::AscendingOrder);
  return table;
}

}  // namespace highwater::views
