#include "models/step_model.h"

#include <cmath>
#include <limits>

#include "analysis/whole_steps.h"
#include "core/units.h"
#include "models/qt_text.h"

namespace highwater::models {

StepModel::StepModel(const analysis::LiveStore* store, QObject* parent)
    : ColumnModel(parent), store_(store) {
  const auto numberOrNone = [](std::uint32_t value) {
    return value == 0 ? kNoValue : QString::number(value);
  };
  setColumns(Columns{
      {.head = tr("Step"),
       .text = [](auto& step) { return QString::number(step.step()); },
       .number = [](auto& step) { return double(step.step()); }},
      {.head = tr("Time ms"),
       .tip = tr("The host's time: while the device works on a step, the host is at later ones"),
       .text = [](auto& step) { return QString::number(toMs(step.duration_ns()), 'f', 1); },
       .number = [](auto& step) { return double(step.duration_ns()); }},
      {.head = tr("Tokens/s"),
       .tip = tr("Tokens of the step over the time that the device took for it; over the host's "
                 "time where that is not known"),
       .text =
           [this](auto& step) {
             const double rate = rateOf(step);
             return std::isnan(rate) ? kNoValue : text(formatRate(rate));
           },
       .number =
           [this](auto& step) {
             const double rate = rateOf(step);
             return std::isnan(rate) ? -1 : rate;
           }},
      {.head = tr("Loss"),
       .text =
           [this](auto& step) {
             if (step.loss_read()) return QString::number(double(step.loss()), 'f', 4);
             return store_->ownScript() ? kNoValue : tr("not read");
           },
       .number =
           [](auto& step) {
             constexpr double kInfinity = std::numeric_limits<double>::infinity();
             if (!step.loss_read()) return -kInfinity;
             // NaN has no order. A diverged training sorts as the largest loss.
             return std::isnan(step.loss()) ? kInfinity : double(step.loss());
           }},
      {.head = tr("Peak current"),
       .text = [](auto& step) { return text(formatBytes(step.peak_current_bytes())); },
       .number = [](auto& step) { return double(step.peak_current_bytes()); },
       .cellTip =
           [](auto& step) {
             return step.peak_current_exact() ? tr("The allocator's own peak of current allocated")
                                              : tr("The largest sample of current allocated");
           }},
      {.head = tr("Batch"),
       .tip = tr("Batch size, in samples"),
       .text = [=](auto& step) { return numberOrNone(step.batch_size()); },
       .number = [](auto& step) { return double(step.batch_size()); }},
      {.head = tr("Length"),
       .tip = tr("Sequence length, in tokens"),
       .text = [=](auto& step) { return numberOrNone(step.sequence_length()); },
       .number = [](auto& step) { return double(step.sequence_length()); }},
  });
  refresh();
}

void StepModel::setRange(const std::optional<analysis::TimeRange>& range) {
  range_ = range;
  refresh();
}

void StepModel::refresh() {
  compareSizes();
  const auto& records = store_->steps().records;
  const auto [first, end] =
      range_ ? analysis::wholeStepsIn(*store_, *range_) : analysis::StepRows{0, records.size()};
  const bool appended = count_ > 0 && first == first_ && end >= first_ + count_ &&
                        records[first_].begin_ns() == firstBeginNs_ &&
                        records[first_ + count_ - 1].begin_ns() == lastBeginNs_;
  if (appended && end == first_ + count_) {
    return;
  }
  if (appended) {
    beginInsertRows({}, 0, static_cast<int>(end - first_ - count_) - 1);
  } else {
    beginResetModel();
  }
  first_ = first;
  count_ = end - first;
  firstBeginNs_ = count_ == 0 ? 0 : records[first].begin_ns();
  lastBeginNs_ = count_ == 0 ? 0 : records[end - 1].begin_ns();
  appended ? endInsertRows() : endResetModel();
}

void StepModel::compareSizes() {
  const auto& records = store_->steps().records;
  if (records.size() < compared_ || (compared_ > 0 && records[0].begin_ns() != comparedBeginNs_)) {
    compared_ = 0;
    batchVaries_ = lengthVaries_ = false;
  }
  for (; compared_ < records.size(); ++compared_) {
    batchVaries_ |= records[compared_].batch_size() != records[0].batch_size();
    lengthVaries_ |= records[compared_].sequence_length() != records[0].sequence_length();
  }
  comparedBeginNs_ = records.empty() ? 0 : records[0].begin_ns();
}

std::size_t StepModel::recordOf(int row) const {
  return first_ + count_ - 1 - static_cast<std::size_t>(row);
}

int StepModel::rowOf(std::size_t record) const {
  const bool shown = record >= first_ && record < first_ + count_;
  return shown ? static_cast<int>(first_ + count_ - 1 - record) : -1;
}

int StepModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(count_);
}

const events::StepRecord* StepModel::rowAt(int row) const {
  if (row < 0 || static_cast<std::size_t>(row) >= count_) return nullptr;
  const std::size_t record = recordOf(row);
  // The store may have been cleared since.
  return record < store_->steps().records.size() ? &store_->steps().records[record] : nullptr;
}

double StepModel::rateOf(const events::StepRecord& step) const {
  const auto record = &step - store_->steps().records.data();
  return store_->steps().tokensPerS[static_cast<std::size_t>(record)];
}

QVariant StepModel::headerData(int section, Qt::Orientation orientation, int role) const {
  const bool isRate =
      section == kTokensPerS && orientation == Qt::Horizontal && role == Qt::DisplayRole;
  if (isRate && store_->rateUnit() != "tokens/s") return tr("Samples/s");
  return ColumnModel::headerData(section, orientation, role);
}

}  // namespace highwater::models
