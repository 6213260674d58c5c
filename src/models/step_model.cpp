#include "models/step_model.h"

#include <cmath>
#include <limits>

#include "analysis/whole_steps.h"
#include "core/units.h"
#include "models/column_look.h"
#include "models/op_totals_model.h"

namespace highwater::models {

StepModel::StepModel(const analysis::LiveStore* store, QObject* parent)
    : QAbstractTableModel(parent), store_(store) {
  refresh();
}

void StepModel::setRange(const std::optional<analysis::TimeRange>& range) {
  range_ = range;
  refresh();
}

void StepModel::refresh() {
  const auto& records = store_->steps().records;
  const auto [first, end] =
      range_ ? analysis::wholeStepsIn(*store_, *range_) : analysis::StepRows{0, records.size()};
  const bool appended = rows_ > 0 && first == first_ && end >= first_ + rows_ &&
                        records[first_].begin_ns() == firstBeginNs_ &&
                        records[first_ + rows_ - 1].begin_ns() == lastBeginNs_;
  if (appended && end == first_ + rows_) {
    return;
  }
  if (appended) {
    beginInsertRows({}, 0, static_cast<int>(end - first_ - rows_) - 1);
  } else {
    beginResetModel();
  }
  first_ = first;
  rows_ = end - first;
  firstBeginNs_ = rows_ == 0 ? 0 : records[first].begin_ns();
  lastBeginNs_ = rows_ == 0 ? 0 : records[end - 1].begin_ns();
  appended ? endInsertRows() : endResetModel();
}

std::size_t StepModel::recordOf(int row) const {
  return first_ + rows_ - 1 - static_cast<std::size_t>(row);
}

int StepModel::rowOf(std::size_t record) const {
  const bool shown = record >= first_ && record < first_ + rows_;
  return shown ? static_cast<int>(first_ + rows_ - 1 - record) : -1;
}

int StepModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_);
}

int StepModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

double StepModel::sortKey(int row, int column) const {
  const std::size_t record = recordOf(row);
  if (record >= store_->steps().records.size()) return 0;
  const events::StepRecord& step = store_->steps().records[record];
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (column) {
    case kTimeMs:
      return static_cast<double>(step.duration_ns());
    case kTokensPerS: {
      const double rate = store_->steps().tokensPerS[record];
      return std::isnan(rate) ? -1 : rate;
    }
    case kLoss: {
      if (!step.loss_read()) return -kInfinity;
      // NaN has no order. A diverged training sorts as the largest loss.
      const double loss = step.loss();
      return std::isnan(loss) ? kInfinity : loss;
    }
    case kPeak:
      return static_cast<double>(step.peak_current_bytes());
    case kBatch:
      return step.batch_size();
    case kSequence:
      return step.sequence_length();
    default:
      return step.step();
  }
}

QVariant StepModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() ||
      recordOf(index.row()) >= store_->steps().records.size()) {
    return {};
  }
  if (role == Qt::TextAlignmentRole) {
    return columnAlignment(/*isText=*/false);
  }
  const std::size_t record = recordOf(index.row());
  const events::StepRecord& step = store_->steps().records[record];
  if (role == Qt::ToolTipRole && index.column() == kPeak) {
    return step.peak_current_exact() ? tr("The allocator's own peak of current allocated")
                                     : tr("The largest sample of current allocated");
  }
  if (role == OpTotalsModel::kSortRole) {
    return sortKey(index.row(), index.column());
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  const QString unknown = QStringLiteral("–");
  switch (index.column()) {
    case kStep:
      return QString::number(step.step());
    case kTimeMs:
      return QString::number(toMs(step.duration_ns()), 'f', 1);
    case kTokensPerS:
      return std::isnan(store_->steps().tokensPerS[record])
                 ? unknown
                 : QString::fromStdString(formatRate(store_->steps().tokensPerS[record]));
    case kLoss:
      return step.loss_read()      ? QString::number(double(step.loss()), 'f', 4)
             : store_->ownScript() ? unknown
                                   : tr("not read");
    case kPeak:
      return QString::fromStdString(formatBytes(step.peak_current_bytes())) +
             (step.peak_current_exact() ? QString() : tr(" sampled"));
    case kBatch:
      return step.batch_size() == 0 ? unknown : QString::number(step.batch_size());
    case kSequence:
      return step.sequence_length() == 0 ? unknown : QString::number(step.sequence_length());
    default:
      return {};
  }
}

QVariant StepModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) {
    return {};
  }
  if (role == Qt::ToolTipRole && section == kTokensPerS) {
    return tr(
        "Tokens of the step over the time that the device took for it; over the host's time "
        "where that is not known");
  }
  if (role == Qt::ToolTipRole && section == kTimeMs) {
    return tr("The host's time: while the device works on a step, the host is at later ones");
  }
  if (role == Qt::ToolTipRole && section == kBatch) return tr("Batch size, in samples");
  if (role == Qt::ToolTipRole && section == kSequence) return tr("Sequence length, in tokens");
  if (const QVariant look = columnHeader(/*isText=*/false, role); look.isValid()) {
    return look;
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kStep:
      return tr("Step");
    case kTimeMs:
      return tr("Time ms");
    case kTokensPerS:
      return store_->rateUnit() == "tokens/s" ? tr("Tokens/s") : tr("Samples/s");
    case kLoss:
      return tr("Loss");
    case kPeak:
      return tr("Peak current");
    case kBatch:
      return tr("Batch");
    default:
      return tr("Length");
  }
}

}  // namespace highwater::models
