#include "views/panels/script_controls.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

#include "analysis/whole_steps.h"
#include "views/panels/cut_label.h"
#include "views/panels/knob_row.h"

namespace highwater::views {
namespace {

QLabel* caption(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setProperty("kind", "quiet");
  return label;
}

QVBoxLayout* column() {
  auto* made = new QVBoxLayout;
  made->setSpacing(10);
  return made;
}

}  // namespace

ScriptControls::ScriptControls(const analysis::LiveStore* store, QWidget* parent)
    : QWidget(parent),
      store_(store),
      declaredTitle_(caption({}, this)),
      foundTitle_(caption(tr("Found by Highwater"), this)),
      empty_(caption(tr("A line in the script adds a slider here:\n"
                        "highwater.knob(\"batch_size\", 32, min=1, max=512)"),
                     this)),
      declared_(column()),
      found_(column()),
      facts_(column()) {
  setObjectName(QStringLiteral("scriptControls"));
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(12, 12, 12, 12);
  all->setSpacing(8);
  all->addWidget(declaredTitle_);
  all->addLayout(declared_);
  all->addWidget(empty_);
  all->addWidget(foundTitle_);
  all->addLayout(found_);
  auto* line = new QFrame(this);
  line->setObjectName(QStringLiteral("controlsLine"));
  line->setFrameShape(QFrame::HLine);
  all->addWidget(line);
  all->addWidget(caption(tr("Seen in the script"), this));
  facts_->setSpacing(6);
  all->addLayout(facts_);
  addFact(tr("Batch × length"), &size_, true);
  addFact(tr("Model"), &model_, false);
  addFact(tr("Optimizer"), &optimizer_, false);
  addFact(tr("dtype"), &dtype_, false);
  all->addStretch(1);
}

void ScriptControls::addFact(const QString& name, QLabel** value, bool isGuess) {
  auto* line = new QHBoxLayout;
  line->setSpacing(6);
  line->addWidget(new QLabel(name, this));
  if (isGuess) {
    auto* guess = new QLabel(tr("guess"), this);
    guess->setProperty("kind", "guess");
    guess->setToolTip(
        tr("From the shape of what the model is called with: the batch comes first, "
           "then the sequence"));
    line->addWidget(guess);
  }
  line->addStretch(1);
  *value = new CutLabel(this);
  (*value)->setTextFormat(Qt::PlainText);
  (*value)->setProperty("kind", "value");
  (*value)->setAccessibleName(name);
  line->addWidget(*value);
  facts_->addLayout(line);
}

void ScriptControls::addKnob(const ScriptKnob& knob) {
  auto* row = new KnobRow(knob, this);
  row->setEnabled(changeable_);
  row->setLive(live_);
  connect(row, &KnobRow::changeRequested, this, [this, name = knob.name](double value) {
    emit changeRequested({name, value});
  });
  (knob.declaredAt.empty() ? found_ : declared_)->addWidget(row);
  rows_.push_back(row);
}

void ScriptControls::startOver() {
  qDeleteAll(rows_);
  rows_.clear();
}

void ScriptControls::refresh() {
  const auto& knobs = store_->scriptKnobs();
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    i < rows_.size() ? rows_[i]->showKnob(knobs[i]) : addKnob(knobs[i]);
  }
  const bool declares = std::any_of(
      knobs.begin(), knobs.end(), [](const ScriptKnob& each) { return !each.declaredAt.empty(); });
  declaredTitle_->setVisible(declares);
  empty_->setVisible(!declares && live_);
  foundTitle_->setVisible(static_cast<std::size_t>(found_->count()) > 0);
  refreshFacts();
}

void ScriptControls::refreshFacts() {
  const RunDescription run = store_->run().value_or(RunDescription{});
  declaredTitle_->setText(tr("Declared by %1").arg(QString::fromStdString(run.workload)));
  std::uint32_t batch = run.knobs.batchSize, length = run.knobs.sequenceLength;
  if (const auto& records = store_->steps().records; !records.empty()) {
    const events::StepRecord& step = records[analysis::newestOfSettledBatch(records)];
    batch = step.batch_size();
    length = step.sequence_length();
  }
  const auto known = [](const std::string& text) {
    return text.empty() ? QStringLiteral("–") : QString::fromStdString(text);
  };
  size_->setText(batch == 0    ? QStringLiteral("–")
                 : length == 0 ? QString::number(batch)
                               : tr("%1 × %2").arg(batch).arg(length));
  model_->setText(known(run.model));
  optimizer_->setText(known(run.optimizer));
  dtype_->setText(known(run.dtype));
}

void ScriptControls::showAnswer(const std::string& name, bool accepted, const QString& message) {
  for (KnobRow* row : rows_) {
    if (row->knob().name == name) row->showAnswer(accepted, message);
  }
}

void ScriptControls::setChangeable(bool changeable, bool live) {
  changeable_ = changeable;
  live_ = live;
  for (KnobRow* row : rows_) {
    row->setEnabled(changeable);
    row->setLive(live);
  }
  refresh();
}

}  // namespace highwater::views
