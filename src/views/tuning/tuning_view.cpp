#include "views/tuning/tuning_view.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QSplitter>
#include <QStackedLayout>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "models/qt_text.h"
#include "views/panes/paint.h"
#include "views/tuning/peak_plot.h"
#include "views/tuning/plot_header.h"
#include "views/tuning/throughput_plot.h"
#include "views/tuning/tuning_map.h"

namespace highwater::views {
namespace {

/// Narrower views have no room for two plots beside each other, lower ones none above each other.
constexpr int kBesideFrom = 620, kAboveFrom = 520;

LegendEntry bandEntry(HeadroomBand band, const QString& text) {
  return {text, 10, [band](QPainter& painter, const QRectF& rect, const Theme& theme) {
            painter.fillRect(rect, TuningMap::bandColor(band, theme));
            painter.fillRect(rect, TuningMap::bandHatch(band, theme));
          }};
}

LegendEntry lineEntry(double width, const QList<qreal>& dashes, const QString& text) {
  return {text, 18, [width, dashes](QPainter& painter, const QRectF& rect, const Theme& theme) {
            QPen pen(theme.text1, width);
            if (!dashes.isEmpty()) pen.setDashPattern(dashes);
            pen.setCapStyle(Qt::FlatCap);
            painter.setPen(pen);
            const double y = std::round(rect.center().y()) + (width == 1 ? 0.5 : 0);
            painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y));
          }};
}

LegendEntry pointEntry(PointLook look, const QString& text) {
  const bool wide = look == PointLook::kRecommended || look == PointLook::kMeasuring ||
                    look == PointLook::kChosen;
  return {text, wide ? 16.0 : 11.0,
          [look](QPainter& painter, const QRectF& rect, const Theme& theme) {
            if (look == PointLook::kChosen) {  // smaller than among the data, to fit the line
              painter.setRenderHint(QPainter::Antialiasing);
              painter.setPen(QPen(theme.accent, 2));
              painter.drawEllipse(rect.center(), 6, 6);
              return;
            }
            drawPoint(painter, look, rect.center(), theme);
          }};
}

}  // namespace

TuningView::TuningView(const models::TuningState* state, QWidget* parent)
    : QWidget(parent),
      state_(state),
      emptyTitle_(new QLabel(tr("No memory model yet"), this)),
      emptyText_(new QLabel(this)),
      tabs_(new QWidget(this)),
      splitter_(new QSplitter(Qt::Horizontal, this)),
      mapHeader_(new PlotHeader(tr("Map"), this)),
      throughputHeader_(new PlotHeader(tr("Throughput"), this)),
      map_(new TuningMap(state, this)),
      peaks_(new PeakPlot(state, this)),
      throughput_(new ThroughputPlot(state, this)),
      note_(new QLabel(this)) {
  setObjectName(QStringLiteral("tuningView"));
  mapHeader_->setObjectName(QStringLiteral("mapHeader"));
  throughputHeader_->setObjectName(QStringLiteral("throughputHeader"));
  auto* empty = new QWidget(this);
  auto* emptyColumn = new QVBoxLayout(empty);
  emptyColumn->setContentsMargins(24, 24, 24, 24);
  emptyColumn->setSpacing(8);
  emptyTitle_->setProperty("kind", "title");
  emptyTitle_->setAlignment(Qt::AlignCenter);
  emptyText_->setObjectName(QStringLiteral("tuningEmptyText"));
  emptyText_->setProperty("kind", "quiet");
  emptyText_->setTextFormat(Qt::PlainText);
  emptyText_->setWordWrap(true);
  emptyText_->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
  emptyColumn->addStretch(1);
  emptyColumn->addWidget(emptyTitle_);
  emptyColumn->addWidget(emptyText_);
  emptyColumn->addStretch(2);

  auto* filled = new QWidget(this);
  auto* column = new QVBoxLayout(filled);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* tabRow = new QHBoxLayout(tabs_);
  tabRow->setContentsMargins(12, 4, 12, 0);
  tabRow->setSpacing(12);
  mapTab_ = makeTab(tr("Map"), "mapTab");
  throughputTab_ = makeTab(tr("Throughput"), "throughputTab");
  auto* group = new QButtonGroup(this);
  for (QToolButton* each : {mapTab_, throughputTab_}) {
    group->addButton(each);
    tabRow->addWidget(each);
  }
  tabRow->addStretch(1);
  mapTab_->setChecked(true);
  connect(mapTab_, &QToolButton::toggled, this, &TuningView::layOut);
  column->addWidget(tabs_);
  mapSide_ = makeSide(mapHeader_, map_);
  static_cast<QVBoxLayout*>(mapSide_->layout())->addWidget(peaks_, 1);
  throughputSide_ = makeSide(throughputHeader_, throughput_);
  splitter_->setObjectName(QStringLiteral("tuningSplitter"));
  splitter_->setChildrenCollapsible(false);
  splitter_->setHandleWidth(1);
  splitter_->addWidget(mapSide_);
  splitter_->addWidget(throughputSide_);
  column->addWidget(splitter_, 1);
  note_->setObjectName(QStringLiteral("tuningNote"));
  note_->setProperty("kind", "note");
  note_->setTextFormat(Qt::PlainText);
  note_->setWordWrap(true);
  note_->setContentsMargins(12, 2, 12, 6);
  // A layout that is short of room takes it from a label that wraps, and cuts its lines.
  note_->setMinimumHeight(2 * note_->fontMetrics().lineSpacing() + 8);
  column->addWidget(note_);

  pages_ = new QStackedLayout(this);
  pages_->addWidget(empty);
  pages_->addWidget(filled);
  setMinimumHeight(150);

  for (SettingPlot* plot : std::initializer_list<SettingPlot*>{map_, peaks_, throughput_}) {
    connect(plot, &SettingPlot::settingChosen, this, &TuningView::settingChosen);
    connect(plot, &SettingPlot::applyRequested, this, &TuningView::applyRequested);
  }
  connect(state_, &models::TuningState::changed, this, &TuningView::showState);
  connect(state_, &models::TuningState::chosenChanged, this, &TuningView::showState);
  connect(state_, &models::TuningState::sweepingChanged, this, &TuningView::showLegends);
  showState();
  layOut();
}

QWidget* TuningView::makeSide(PlotHeader* header, QWidget* plot) {
  auto* side = new QWidget(this);
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(header);
  column->addWidget(plot, 1);
  return side;
}

QToolButton* TuningView::makeTab(const QString& text, const char* name) {
  auto* tab = new QToolButton(tabs_);
  tab->setObjectName(QLatin1String(name));
  tab->setText(text);
  tab->setProperty("kind", "choice");
  tab->setCheckable(true);
  tab->setFocusPolicy(Qt::TabFocus);
  tab->setCursor(Qt::PointingHandCursor);
  return tab;
}

void TuningView::setMarks(const SettingMarks& marks) {
  if (marks == map_->marks()) return;
  map_->setMarks(marks);
  peaks_->setMarks(marks);
  throughput_->setMarks(marks);
  showLegends();
}

void TuningView::showState() {
  if (!state_->model()) {
    const QString reason = state_->reason();
    const QString todo =
        tr("Train a few steps at two settings, for example at batch size 16 and "
           "32: the map then shows what every other setting would take.");
    QString why = reason.isEmpty() ? QString() : reason.left(1).toUpper() + reason.mid(1);
    emptyText_->setText(why.isEmpty() ? todo : why + QStringLiteral(".\n") + todo);
    pages_->setCurrentIndex(0);
    return;
  }
  pages_->setCurrentIndex(1);
  note_->setText(text(state_->model()->confidence().text));
  const bool lengths = hasLengths();
  map_->setVisible(lengths);
  peaks_->setVisible(!lengths);
  const QString title = lengths ? tr("Map") : tr("Memory");
  mapHeader_->setTitle(title);
  mapTab_->setText(title);
  const QString from =
      state_->model()->held() ? tr("with the cache held now") : tr("in a fresh process");
  mapHeader_->setSubtitle({(lengths ? tr("batch × length, predicted peak of driver memory %1")
                                    : tr("predicted peak of driver memory %1"))
                               .arg(from),
                           tr("predicted driver peak %1").arg(from), tr("driver peak %1").arg(from),
                           tr("predicted driver peak"), tr("driver peak")});
  const QString at = lengths ? tr(", length %1").arg(throughput_->length()) : QString();
  throughputHeader_->setSubtitle(
      {tr("against peak memory%1").arg(at), tr("by memory%1").arg(at),
       lengths ? tr("length %1").arg(throughput_->length()) : QString()});
  showLegends();
}

bool TuningView::hasLengths() const {
  return state_->limits().length > 1 && throughput_->length() > 1;
}

std::vector<LegendEntry> TuningView::mapEntries() const {
  const MemoryLimits& limits = state_->model()->limits();
  if (!hasLengths()) {
    std::vector<LegendEntry> entries{
        lineEntry(1, {}, tr("likely")),
        {tr("95 % bounds"), 10, [](QPainter& painter, const QRectF& rect, const Theme& theme) {
           painter.fillRect(rect, PeakPlot::boundsColor(theme));
         }}};
    if (limits.recommendedBytes > 0) {
      entries.push_back(lineEntry(1, {10, 3, 2, 3}, tr("limit")));
      entries.push_back(lineEntry(2, {}, tr("largest safe batch")));
    }
    return entries;
  }
  std::vector<LegendEntry> bands;
  if (limits.recommendedBytes == 0) {
    bands.push_back(bandEntry(HeadroomBand::kSafe, tr("recommended maximum unknown")));
  } else {
    bands = {bandEntry(HeadroomBand::kSafe, tr("safe")),
             bandEntry(HeadroomBand::kReserve, tr("reserve")),
             bandEntry(HeadroomBand::kAboveRecommended, tr("above recommended"))};
    if (limits.lowWatermarkRatio > 0) {
      bands.push_back(bandEntry(HeadroomBand::kAboveLowWatermark, tr("above low")));
    }
    if (limits.highWatermarkRatio > 0) {
      bands.push_back(bandEntry(HeadroomBand::kAboveHighWatermark, tr("above high")));
    }
    bands.push_back(lineEntry(2, {}, tr("largest safe batch")));
  }
  return bands;
}

void TuningView::showLegends() {
  if (!state_->model()) return;
  mapHeader_->setEntries(mapEntries());
  // Only the looks that there are.
  const std::vector<SettingPoint> points = pointsOf(*state_, map_->marks());
  const auto has = [&](PointLook look) {
    return std::any_of(points.begin(), points.end(),
                       [look](const SettingPoint& each) { return each.look == look; });
  };
  std::vector<LegendEntry> looks{pointEntry(PointLook::kMeasured, tr("measured"))};
  if (has(PointLook::kMeasuring)) {
    // The same look: outside of a sweep it is what the training uses.
    looks.push_back(
        pointEntry(PointLook::kMeasuring, state_->sweeps() ? tr("measuring") : tr("in use")));
  }
  if (has(PointLook::kNext)) looks.push_back(pointEntry(PointLook::kNext, tr("next")));
  if (has(PointLook::kRecommended)) {
    looks.push_back(pointEntry(PointLook::kRecommended, tr("recommended")));
  }
  if (has(PointLook::kOutOfMemory)) {
    looks.push_back(pointEntry(PointLook::kOutOfMemory, tr("out of memory")));
  }
  if (state_->chosen().batch > 0) {
    looks.push_back(pointEntry(PointLook::kChosen, tr("chosen")));
  }
  if (std::any_of(points.begin(), points.end(), [this](const SettingPoint& each) {
        return each.look == PointLook::kMeasured && each.setting.length != throughput_->length();
      })) {
    looks.push_back(pointEntry(PointLook::kNotCompared, tr("other length")));
  }
  // A single setting has no line.
  if (throughput_->front().size() > 1) looks.push_back(lineEntry(1.5, {}, tr("front")));
  throughputHeader_->setEntries(std::move(looks));
}

void TuningView::layOut() {
  layout_ = width() >= kBesideFrom   ? Layout::kBeside
            : height() >= kAboveFrom ? Layout::kAbove
                                     : Layout::kOne;
  const bool one = layout_ == Layout::kOne;
  const auto orientation = layout_ == Layout::kAbove ? Qt::Vertical : Qt::Horizontal;
  if (splitter_->orientation() != orientation) {
    splitter_->setOrientation(orientation);
    splitter_->setSizes({1000, 1000});
  }
  tabs_->setVisible(one);
  mapHeader_->setTitleShown(!one);  // else the tab says it
  throughputHeader_->setTitleShown(!one);
  mapSide_->setVisible(!one || mapTab_->isChecked());
  throughputSide_->setVisible(!one || throughputTab_->isChecked());
}

void TuningView::renderNow() {
  map_->finish();
  peaks_->replot();
  throughput_->replot();
}

void TuningView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  layOut();
}

void TuningView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) update();
}

void TuningView::paintEvent(QPaintEvent*) {
  QPainter(this).fillRect(rect(), Theme::of(this).plot);
}

}  // namespace highwater::views
