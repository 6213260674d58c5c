#include "window/run_tool_bar.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QSignalBlocker>
#include <QToolButton>
#include <algorithm>
#include <utility>

#include "core/run_options.h"
#include "core/scenarios.h"
#include "models/qt_text.h"
#include "views/key_text.h"
#include "views/panels/search_button.h"
#include "views/panels/wheel_guard.h"
#include "views/theme.h"
#include "window/device_badge.h"
#include "window/window_actions.h"

namespace highwater::window {

using views::Theme;

namespace {

constexpr int kButton = 28;

QAction* addGap(QToolBar* bar, int width) {
  auto* gap = new QWidget(bar);
  gap->setFixedWidth(width);
  return bar->addWidget(gap);
}

/// Adds a vertical line. Returns the actions that it added.
QList<QAction*> addLine(QToolBar* bar) {
  const qsizetype before = bar->actions().size();
  auto* line = new QFrame(bar);
  line->setFrameShape(QFrame::NoFrame);
  line->setObjectName(QStringLiteral("toolBarLine"));
  line->setFixedSize(1, 20);
  line->setAutoFillBackground(true);
  line->setBackgroundRole(QPalette::Midlight);
  addGap(bar, 8);
  bar->addWidget(line);
  addGap(bar, 8);
  return bar->actions().mid(before);
}

}  // namespace

RecordingIndicator::RecordingIndicator(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("recordingIndicator"));
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void RecordingIndicator::show(Kind kind, const QString& time) {
  kind_ = kind;
  time_ = time;
  setAccessibleName(kind == Kind::kRecording ? tr("Recording, %1").arg(time)
                    : kind == Kind::kFile    ? tr("Recorded run, %1").arg(time)
                                             : tr("Not recording"));
  updateGeometry();
  update();
}

QSize RecordingIndicator::sizeHint() const {
  const QFontMetrics metrics(views::textFont(views::kText, true));
  return {metrics.horizontalAdvance(tr("Recorded run") + time_) + 36, kButton};
}

void RecordingIndicator::paintEvent(QPaintEvent*) {
  if (kind_ == Kind::kNone) {
    return;
  }
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const Theme& theme = Theme::of(this);
  const QFont plain = views::textFont(views::kText), bold = views::textFont(views::kText, true);
  const QString word = kind_ == Kind::kRecording ? tr("Recording") : tr("Recorded run");
  const int timeWidth = QFontMetrics(bold).horizontalAdvance(time_);
  const int wordWidth = QFontMetrics(plain).horizontalAdvance(word);
  const double x = width() - timeWidth - wordWidth - 6 - 4;
  painter.setPen(QPen(kind_ == Kind::kRecording ? theme.vermillion : theme.text3, 1.6));
  painter.setBrush(kind_ == Kind::kRecording ? QBrush(theme.vermillion) : Qt::NoBrush);
  painter.drawEllipse(QPointF(x - 11, height() / 2.0), 4, 4);
  painter.setPen(theme.text1);
  painter.setFont(plain);
  painter.drawText(QRectF(x, 0, wordWidth + 2, height()), Qt::AlignVCenter, word);
  painter.setFont(bold);
  painter.drawText(QRectF(x + wordWidth + 6, 0, timeWidth + 2, height()), Qt::AlignVCenter, time_);
}

RunToolBar::RunToolBar(WindowActions* actions, QWidget* parent)
    : QToolBar(parent),
      badge_(new DeviceBadge(this)),
      recording_(new RecordingIndicator(this)),
      workload_(new QComboBox(this)),
      preset_(new QComboBox(this)),
      name_(new QLabel(this)),
      search_(new views::SearchButton(this)),
      level_(new QToolButton(this)),
      levelTip_(tr("What is recorded: ops, monitor or off (%1 records every op for "
                   "%2 steps)")
                    .arg(views::keyText(actions->recordOps->shortcut()))
                    .arg(WindowActions::kOpSteps)) {
  setObjectName(QStringLiteral("runToolBar"));
  setWindowTitle(tr("Run"));
  setMovable(false);
  setFloatable(false);
  setContextMenuPolicy(Qt::PreventContextMenu);
  setFixedHeight(kToolBarHeight);
  setIconSize({16, 16});

  auto* group = new QWidget(this);
  group->setObjectName(QStringLiteral("runButtons"));
  auto* row = new QHBoxLayout(group);
  row->setContentsMargins(1, 1, 1, 1);
  row->setSpacing(0);
  for (QAction* action : {actions->run, actions->pause, actions->stop}) {
    runButtons_ << addButton(action);
    row->addWidget(runButtons_.back());
  }
  addWidget(group);
  addGap(this, 8);
  addWidget(badge_);
  addGap(this, 12);
  name_->setObjectName(QStringLiteral("runName"));
  name_->setTextFormat(Qt::PlainText);
  name_->setProperty("kind", "title");
  namePart_ = addWidget(name_);
  workloadParts_ = addCaption(tr("Workload"));
  workload_->setObjectName(QStringLiteral("workloadCombo"));
  workload_->setAccessibleName(tr("Workload"));
  workload_->setToolTip(tr("The training program: classifies texts of issues into three classes"));
  workload_->addItem(text(kBuiltInWorkload), QString());
  addScenarios();
  workloadParts_ << addWidget(workload_);
  addGap(this, 8);
  presetParts_ = addCaption(tr("Preset"));
  preset_->setObjectName(QStringLiteral("presetCombo"));
  preset_->setAccessibleName(tr("Preset"));
  preset_->setToolTip(tr("Size of the model. By device: base on mps, else small"));
  preset_->addItem(tr("by device"), QString());
  preset_->addItem(QStringLiteral("small"), QStringLiteral("small"));
  preset_->addItem(QStringLiteral("base"), QStringLiteral("base"));
  views::guardWheel(workload_);
  views::guardWheel(preset_);
  presetParts_ << addWidget(preset_) << addGap(this, 8);
  levelParts_ = addCaption(tr("Level"));
  level_->setObjectName(QStringLiteral("levelButton"));
  level_->setAccessibleName(tr("Recording level"));
  level_->setProperty("kind", "combo");
  level_->setPopupMode(QToolButton::InstantPopup);
  level_->setMenu(actions->levelMenu);
  level_->setFixedHeight(kButton);
  level_->setFocusPolicy(Qt::TabFocus);
  levelParts_ << addWidget(level_) << addLine(this);
  for (QAction* action : {actions->emptyCache, actions->mark}) {
    shrinking_ << addButton(action);
    inMenus_ << addWidget(shrinking_.back());
    firstToShrink_ << shrinking_.back();
  }
  addGap(this, 8);
  auto* shown = new QWidget(this);
  shown->setObjectName(QStringLiteral("viewSwitch"));
  auto* choices = new QHBoxLayout(shown);
  choices->setContentsMargins(0, 0, 0, 0);
  choices->setSpacing(0);
  for (QAction* action : {actions->timelineView, actions->tuningView}) {
    viewButtons_ << addButton(action);
    viewButtons_.back()->setToolButtonStyle(Qt::ToolButtonTextOnly);
    choices->addWidget(viewButtons_.back());
  }
  addWidget(shown);
  auto* spacer = new QWidget(this);
  spacer->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  addWidget(spacer);
  shrinking_ << addButton(actions->follow);
  addWidget(shrinking_.back());
  addGap(this, 8);
  addWidget(search_);
  search_->setEnabled(actions->search->isEnabled());
  connect(search_, &QAbstractButton::clicked, actions->search, &QAction::trigger);
  connect(actions->search, &QAction::changed, search_,
          [this, actions] { search_->setEnabled(actions->search->isEnabled()); });
  recordingParts_ = addLine(this);
  recordingParts_ << addWidget(recording_);
  showName({});
  connect(workload_, &QComboBox::activated, this,
          [this](int index) { emit scenarioChosen(workload_->itemData(index).toString()); });
  connect(preset_, &QComboBox::activated, this,
          [this](int index) { emit presetChosen(preset_->itemData(index).toString()); });
}

QToolButton* RunToolBar::addButton(QAction* action) {
  auto* button = new QToolButton(this);
  button->setDefaultAction(action);
  button->setObjectName(action->objectName().chopped(6) + QStringLiteral("Button"));
  button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  button->setFixedHeight(kButton);
  button->setFocusPolicy(Qt::TabFocus);
  button->setAccessibleName(action->text());
  return button;
}

QList<QAction*> RunToolBar::addCaption(const QString& text) {
  auto* caption = new QLabel(text, this);
  caption->setProperty("kind", "quiet");
  captions_ << addWidget(caption);
  auto* gap = new QWidget(this);
  gap->setFixedWidth(4);
  captions_ << addWidget(gap);
  return captions_.last(2);
}

void RunToolBar::addScenarios() {
  workload_->insertSeparator(workload_->count());
  for (const Scenario& each : scenarios()) {
    const QString name = QString::fromUtf8(each.name);
    workload_->addItem(name, name);
    workload_->setItemData(
        workload_->count() - 1,
        tr("Scenario of %1 steps: %2 %3")
            .arg(each.steps)
            .arg(QString::fromUtf8(each.description), QString::fromUtf8(each.shows)),
        Qt::ToolTipRole);
  }
}

void RunToolBar::choose(const RunOptions& options) {
  const QString scenario = text(options.scenario), preset = text(options.preset);
  // The built-in workload is the first.
  workload_->setCurrentIndex(scenario.isEmpty() ? 0 : std::max(0, workload_->findData(scenario)));
  if (preset_->findData(preset) < 0) {
    preset_->addItem(preset, preset);
  }
  preset_->setCurrentIndex(preset_->findData(preset));
}

void RunToolBar::showName(const QString& name) {
  name_->setText(name);
  const bool choosable = name.isEmpty();
  const auto show = [this](const QList<QAction*>& parts, bool shown) {
    for (QAction* part : parts) {
      setPartVisible(part, shown && (captionsShown() || !captions_.contains(part)));
    }
  };
  show({namePart_}, !choosable);
  show(workloadParts_, choosable);
  show(presetParts_, choosable && !compact_);
  show(levelParts_, levelShown_);
}

void RunToolBar::showRecording(RecordingIndicator::Kind kind, const QString& time) {
  recording_->show(kind, time);
  recordingKind_ = kind;
  showRecordingParts();
}

void RunToolBar::setLevelShown(bool shown) {
  if (shown == std::exchange(levelShown_, shown)) return;
  showName(name_->text());
}

void RunToolBar::showLevel(const QString& level, const QString& next) {
  const bool differs = !next.isEmpty() && next != level;
  const QString text = differs ? tr("recorded: %1").arg(level) : level;
  const QString tip = next.isEmpty() ? levelTip_
                                     : tr("This run was recorded at level %1. The menu chooses the "
                                          "level of the next run: %2")
                                           .arg(level, next);
  if (level_->text() != text || level_->toolTip() != tip) {
    level_->setText(text);
    level_->setToolTip(tip);
    level_->setAccessibleName(tr("Recording level: %1").arg(text));
  }
}

void RunToolBar::setSmall(bool small) {
  small_ = small;
  captionsPart_.shown = true;
  showName(name_->text());
  fitSearch();
  for (QToolButton* button : shrinking_) {
    button->setToolButtonStyle(small ? Qt::ToolButtonIconOnly : Qt::ToolButtonTextBesideIcon);
  }
  for (QToolButton* button : viewButtons_) {
    button->setToolButtonStyle(small ? Qt::ToolButtonIconOnly : Qt::ToolButtonTextOnly);
  }
  labels_.shown = !small;
  menuParts_.shown = true;
  for (QAction* part : inMenus_) setPartVisible(part, true);
  fitParts();
}

void RunToolBar::setCompact(bool compact) {
  compact_ = compact;
  for (QToolButton* button : runButtons_) {
    button->setToolButtonStyle(compact ? Qt::ToolButtonIconOnly : Qt::ToolButtonTextBesideIcon);
  }
  showName(name_->text());
  showRecordingParts();
  fitSearch();
}

void RunToolBar::showRecordingParts() {
  using Kind = RecordingIndicator::Kind;
  const bool shown =
      recordingKind_ == Kind::kRecording || (recordingKind_ == Kind::kFile && !compact_);
  for (QAction* part : recordingParts_) {
    part->setVisible(shown);
  }
}

void RunToolBar::giveWay(Part& part, const std::function<void(bool)>& show) {
  using Form = views::SearchButton::Form;
  const int others = sizeHint().width() - views::SearchButton::widthOf(search_->form());
  const int needed =
      others + views::SearchButton::widthOf(Form::kGlass) + (part.shown ? 0 : part.width);
  const bool fits = needed <= width();
  if (fits == part.shown) return;
  const int before = sizeHint().width();
  part.shown = fits;
  show(fits);
  if (!fits) part.width = before - sizeHint().width();
}

void RunToolBar::fitParts() {
  if (small_) {
    giveWay(menuParts_, [this](bool shown) {
      for (QAction* part : inMenus_) setPartVisible(part, shown);
    });
    return;
  }
  // The captions go last and come back first.
  const auto fitCaptions = [this] {
    giveWay(captionsPart_, [this](bool) { showName(name_->text()); });
  };
  if (!captionsPart_.shown) fitCaptions();
  if (captionsPart_.shown) {
    giveWay(labels_, [this](bool shown) {
      for (QToolButton* button : firstToShrink_) {
        button->setToolButtonStyle(shown ? Qt::ToolButtonTextBesideIcon : Qt::ToolButtonIconOnly);
      }
    });
  }
  if (!labels_.shown && captionsPart_.shown) fitCaptions();
}

void RunToolBar::setPartVisible(QAction* part, bool visible) {
  QWidget* widget = widgetForAction(part);
  const bool enabled = !widget || widget->isEnabledTo(this);
  part->setVisible(visible);
  if (widget) widget->setEnabled(enabled);
}

void RunToolBar::fitSearch() {
  using Form = views::SearchButton::Form;
  const int others = sizeHint().width() - views::SearchButton::widthOf(search_->form());
  const auto fits = [&](Form form) {
    return !small_ && others + views::SearchButton::widthOf(form) <= width();
  };
  // Set once, at the end: each change asks for another layout, which comes back here.
  search_->setForm(fits(Form::kFull)    ? Form::kFull
                   : fits(Form::kShort) ? Form::kShort
                                        : Form::kGlass);
}

bool RunToolBar::event(QEvent* event) {
  const bool done = QToolBar::event(event);
  if (event->type() == QEvent::LayoutRequest) {
    fitParts();
    fitSearch();
  }
  return done;
}

void RunToolBar::resizeEvent(QResizeEvent* event) {
  QToolBar::resizeEvent(event);
  fitParts();
  fitSearch();
}

}  // namespace highwater::window
