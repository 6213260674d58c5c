#include "views/tuning/tuning_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>
#include <array>
#include <cmath>

#include "models/qt_text.h"
#include "models/tuning_state.h"
#include "tuning/observations.h"
#include "views/panels/key_value_view.h"
#include "views/panels/link_button.h"
#include "views/theme.h"
#include "views/tuning/bounds_text.h"

namespace highwater::views {
namespace {

using tuning::Setting;

constexpr int kFixedBarHeight = 8;

QString settingsText(int count) {
  return count == 1 ? TuningPanel::tr("1 setting") : TuningPanel::tr("%1 settings").arg(count);
}

QString sizeText(std::uint64_t bytes) {
  return bytes > 0 && bytes != tuning::kTooManyBytes ? bytesText(static_cast<double>(bytes))
                                                     : QStringLiteral("–");
}

QString rangeText(const tuning::Range& range) {
  return boundsText(range.lower, range.upper);
}

}  // namespace

/// Weights, gradients and the optimizer's state as shares of what they are together.
class TuningPanel::FixedBar final : public QWidget {
 public:
  explicit FixedBar(QWidget* parent) : QWidget(parent) {
    setFixedHeight(kFixedBarHeight + 4);
    setAccessibleName(tr("Weights, gradients and optimizer"));
  }
  void show(const tuning::TensorBudget& budget) {
    parts_ = {budget.weights, budget.gradients, budget.optimizer};
    setVisible(budget.fixed() > 0);
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme& theme = Theme::of(this);
    const std::array<QColor, 3> colors{theme.blue, theme.green, theme.purple};
    QPainter painter(this);
    double sum = 0;
    for (const std::uint64_t part : parts_) sum += static_cast<double>(part);
    double at = kPanelInset;
    const double width = this->width() - 2.0 * kPanelInset;
    for (std::size_t i = 0; i < parts_.size() && sum > 0; ++i) {
      const double next = at + width * static_cast<double>(parts_[i]) / sum;
      painter.fillRect(
          QRectF(std::round(at), 2, std::round(next) - std::round(at) - 1, kFixedBarHeight),
          colors[i]);
      at = next;
    }
  }

 private:
  std::array<std::uint64_t, 3> parts_{};
};

TuningPanel::TuningPanel(const analysis::LiveStore* store, models::TuningState* state,
                         QWidget* parent)
    : QWidget(parent), store_(store), state_(state) {
  setObjectName(QStringLiteral("tuningPanel"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 6, 0, 6);
  column->setSpacing(2);
  column_ = column;
  addSweep();
  modelTitle_ = addTitle(tr("Memory model"));
  addRows(&modelRows_, tr("Memory model"));
  reason_ = addNote();
  addDetails();
  column->addStretch(1);
  connect(state_, &models::TuningState::sweepingChanged, this, &TuningPanel::showSweep);
  connect(state_, &models::TuningState::changed, this, [this] {
    showSweep();
    showModel();
    showBudget();
  });
  connect(state_, &models::TuningState::chosenChanged, this, &TuningPanel::showBudget);
  showSweep();
  showModel();
  showBudget();
}

void TuningPanel::addDetails() {
  auto* details = new QWidget(this);
  auto* link = linkButton(tr("Details"), "tuningDetailsButton", this);
  link->setCheckable(true);
  link->setToolTip(tr("The model's coefficients, and what the tensors of a step take"));
  auto* line = new QHBoxLayout;
  line->setContentsMargins(kPanelInset - 4, 0, kPanelInset, 0);
  line->addWidget(link);
  line->addStretch(1);
  column_->addLayout(line);
  column_->addWidget(details);
  column_ = new QVBoxLayout(details);
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(2);
  addRows(&formulaRows_, tr("Coefficients"));
  budgetTitle_ = addTitle(tr("Tensor budget"));
  addRows(&budgetRows_, tr("Tensor budget"));
  fixedTitle_ = addTitle(tr("Always there"));
  fixedBar_ = new FixedBar(this);
  column_->addWidget(fixedBar_);
  addRows(&fixedRows_, tr("Always there"));
  details->hide();
  connect(link, &QToolButton::toggled, this, [details, link](bool on) {
    details->setVisible(on);
    link->setText(on ? tr("Fewer details") : tr("Details"));
  });
}

void TuningPanel::addRows(models::ValueRows* rows, const QString& name) {
  auto* view = new KeyValueView(rows, this);
  view->setAccessibleName(name);
  column_->addWidget(view);
}

void TuningPanel::addSweep() {
  sweepTitle_ = addTitle(tr("Recommended"));
  sweepText_ = addNote();
  sweepText_->setObjectName(QStringLiteral("sweepText"));
  auto* row = new QHBoxLayout;
  row->setContentsMargins(kPanelInset, 2, kPanelInset, 6);
  row->setSpacing(6);
  const auto make = [this, row](const QString& text, const char* name, const QString& tip) {
    auto* button = new QPushButton(text, this);
    button->setObjectName(QLatin1String(name));
    button->setToolTip(tip);
    row->addWidget(button);
    return button;
  };
  apply_ = make({}, "applyRecommendedButton", tr("Train with the recommended setting"));
  startSweep_ = make(tr("Sweep"), "startSweepButton",
                     tr("Measure settings that are safe, and recommend one"));
  stopSweep_ = make(tr("Stop and keep results"), "stopSweepButton",
                    tr("End the sweep with what it has measured"));
  row->addStretch(1);
  column_->addLayout(row);
  connect(apply_, &QPushButton::clicked, this, [this] {
    const auto& sweep = state_->sweep();
    if (sweep && sweep->best) emit applyRequested(*sweep->best);
  });
  connect(startSweep_, &QPushButton::clicked, this, &TuningPanel::sweepRequested);
  connect(stopSweep_, &QPushButton::clicked, this, &TuningPanel::stopSweepRequested);
}

void TuningPanel::setSweepable(bool can, const QString& whyNot) {
  startSweep_->setEnabled(can);
  startSweep_->setToolTip(can ? tr("Measure settings that are safe, and recommend one") : whyNot);
}

void TuningPanel::showSweep() {
  const auto& sweep = state_->sweep();
  const bool runs = state_->sweeps();
  const bool hasEnded = sweep && sweep->ended && !runs;
  const bool hasBest = hasEnded && sweep->best.has_value();
  sweepTitle_->setText(runs ? tr("Sweep") : tr("Recommended"));
  QStringList lines;
  if (runs) {
    const int measured = sweep && !sweep->ended ? static_cast<int>(sweep->settings.size()) : 0;
    lines << (state_->measuring()
                  ? tr("Measuring %1").arg(text(tuning::shortSettingText(*state_->measuring())))
                  : tr("Computing what to measure next"))
          << settingsText(measured) + tr(" measured");
  } else if (hasEnded) {
    lines << text(sweep->reason);
  } else if (sweep) {
    lines << tr("The sweep was cut off after %1: there is no recommendation")
                 .arg(settingsText(static_cast<int>(sweep->settings.size())));
  } else {
    lines << tr("A sweep measures settings that are safe and recommends one");
  }
  sweepText_->setText(lines.join(QLatin1Char('\n')));
  apply_->setVisible(hasBest);
  if (hasBest) apply_->setText(tr("Apply %1").arg(text(tuning::shortSettingText(*sweep->best))));
  stopSweep_->setVisible(runs);
  startSweep_->setVisible(!runs);
  startSweep_->setText(sweep ? tr("Sweep again") : tr("Sweep"));
}

QLabel* TuningPanel::addTitle(const QString& text) {
  auto* title = new QLabel(text, this);
  title->setTextFormat(Qt::PlainText);
  title->setProperty("kind", "title");
  title->setContentsMargins(kPanelInset, 6, kPanelInset, 0);
  column_->addWidget(title);
  return title;
}

QLabel* TuningPanel::addNote() {
  auto* note = new QLabel(this);
  note->setTextFormat(Qt::PlainText);
  note->setProperty("kind", "note");
  note->setWordWrap(true);
  note->setContentsMargins(kPanelInset, 0, kPanelInset, 4);
  column_->addWidget(note);
  return note;
}

void TuningPanel::showModel() {
  const auto& model = state_->model();
  std::vector<models::ValueRows::Row> rows, terms;
  reason_->setVisible(!model);
  if (!model) {
    modelTitle_->show();
    modelRows_.setRows({});
    formulaRows_.setRows({});
    reason_->setText(state_->reason());
    return;
  }
  const tuning::PeakFit& formula = model->formula();
  const tuning::Confidence& confidence = model->confidence();
  const QString tip = tr("Of current allocated: what agrees with all peaks that were measured");
  terms.push_back({tr("Fixed part"), rangeText(formula.fixedRange()), tip});
  terms.push_back({tr("A token"), rangeText(formula.perTokenRange()), tip});
  terms.push_back({tr("A token × length"), rangeText(formula.perScoreRange()), tip});
  if (std::isfinite(confidence.error)) {
    rows.push_back({tr("Error, worst"), tr("%1 %").arg(confidence.error * 100, 0, 'f', 1),
                    confidence.fromRequests
                        ? tr("Of the peaks of current that the requests give, at the settings that "
                             "were measured")
                        : tr("Of the prediction for each measured setting from all the others")});
  }
  terms.push_back(
      {tr("Driver memory by"), confidence.fromRequests ? tr("requests") : tr("bounds"),
       confidence.fromRequests
           ? tr("The allocations of recorded steps, played through the allocator's heaps")
           : tr("Record every op for some steps at two settings, and heaps are known")});
  modelTitle_->setVisible(!rows.empty());  // one setting has no error to tell
  modelRows_.setRows(std::move(rows));
  formulaRows_.setRows(std::move(terms));
}

void TuningPanel::showBudget() {
  const auto& run = store_->run();
  const tuning::ModelSizes sizes = run ? tuning::modelSizesOf(*run) : tuning::ModelSizes{};
  const Setting chosen = state_->chosen();
  const tuning::TensorBudget budget = tuning::tensorBudget(chosen, sizes);
  const bool isKnown = run && chosen.batch > 0;
  budgetTitle_->setText(isKnown ? tr("Tensor budget of %1").arg(text(tuning::settingText(chosen)))
                                : tr("Tensor budget"));
  std::vector<models::ValueRows::Row> rows, fixed;
  QStringList lines;
  if (isKnown) {
    rows.push_back({tr("Token positions"), QLocale().toString(qulonglong(budget.tokens)), {}});
    rows.push_back({tr("A hidden state"), sizeText(budget.hidden), {}});
    if (chosen.length > 1) {
      rows.push_back({tr("Scores of a layer"), sizeText(budget.attention), {}});
    }
    for (const std::string& line : tuning::budgetLines(chosen, sizes)) lines << text(line);
  }
  budgetRows_.setRows(std::move(rows));
  budgetTitle_->setToolTip(lines.join(QLatin1Char('\n')));
  const bool hasFixed = isKnown && budget.fixed() > 0;
  fixedTitle_->setVisible(hasFixed);
  fixedBar_->show(hasFixed ? budget : tuning::TensorBudget{});
  if (hasFixed) {
    fixed = {{tr("Weights"), sizeText(budget.weights), {}},
             {tr("Gradients"), sizeText(budget.gradients), {}},
             {text(sizes.optimizer), sizeText(budget.optimizer), tr("The optimizer's state")}};
  }
  fixedRows_.setRows(std::move(fixed));
}

}  // namespace highwater::views
