#include "models/sweep_model.h"

#include "models/column_look.h"
#include "models/op_totals_model.h"
#include "models/plain_tip.h"
#include "models/qt_text.h"

namespace highwater::models {
namespace {

QString dash() {
  return QStringLiteral("–");
}

QString sizeText(std::uint64_t bytes) {
  return bytes > 0 ? text(formatBytes(bytes)) : dash();
}

}  // namespace

bool SweepModel::isText(int column) {
  return column == kSetting || column == kWhy;
}

void SweepModel::refresh(const std::optional<tuning::RecordedSweep>& sweep) {
  best_ = sweep ? sweep->best : std::nullopt;
  std::vector<Row> rows;
  if (sweep) {
    for (const tuning::SweptSetting& each : sweep->settings)
      rows.push_back({rows.size() + 1, each});
    for (const tuning::SweptSetting& each : sweep->leftOut) rows.push_back({rows.size() + 1, each});
  }
  replaceRows(rows_, std::move(rows), [](const Row& row) { return row.number; });
}

tuning::Setting SweepModel::settingOf(int row) const {
  return rows_[static_cast<std::size_t>(row)].swept.setting;
}

int SweepModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int SweepModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QString SweepModel::cellText(const Row& row, int column) const {
  const tuning::SweptSetting& swept = row.swept;
  switch (column) {
    case kNumber:
      return swept.leftOut ? dash() : QString::number(row.number);
    case kSetting:
      return text(tuning::shortSettingText(swept.setting));
    case kPredicted:
      return sizeText(swept.predicted.bytes);
    case kAtMost:
      return sizeText(swept.predicted.upper);
    case kDriver:
      return swept.outOfMemory ? tr("out of memory") : sizeText(swept.peakDriver);
    case kError: {
      const auto error = swept.error();
      if (!error) return dash();
      return signedText(*error, QString::number(std::abs(*error) * 100, 'f', 1)) +
             QStringLiteral(" %");
    }
    case kStepMs:
      return swept.stepMs > 0 ? QString::number(swept.stepMs, 'f', 1) : dash();
    case kTokensPerS:
      return swept.tokensPerS > 0 ? text(formatRate(swept.tokensPerS)) : dash();
    default:
      if (swept.leftOut) return tr("left out: %1").arg(text(swept.reason));
      if (swept.setting == best_) return tr("recommended; %1").arg(text(swept.reason));
      return swept.safe || swept.outOfMemory ? text(swept.reason)
                                             : tr("above the limit; %1").arg(text(swept.reason));
  }
}

QVariant SweepModel::sortKey(const Row& row, int column) const {
  const tuning::SweptSetting& swept = row.swept;
  switch (column) {
    case kSetting:
      return double(swept.setting.batch) * swept.setting.length;
    case kPredicted:
      return double(swept.predicted.bytes);
    case kAtMost:
      return double(swept.predicted.upper);
    case kDriver:
      return double(swept.peakDriver);
    case kError:
      return std::abs(swept.error().value_or(-1));
    case kStepMs:
      return swept.stepMs;
    case kTokensPerS:
      return swept.tokensPerS;
    case kWhy:
      return cellText(row, column);
    default:
      return double(row.number);
  }
}

QVariant SweepModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return cellText(row, index.column());
    case Qt::TextAlignmentRole:
      return columnAlignment(isText(index.column()));
    case Qt::ToolTipRole:
      return index.column() == kWhy ? plainTip(cellText(row, kWhy)) : QVariant();
    case OpTotalsModel::kSortRole:
      return sortKey(row, index.column());
    default:
      return {};
  }
}

QVariant SweepModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) {
    return {};
  }
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kPredicted:
        return tr("Driver memory, as predicted before the setting was measured");
      case kAtMost:
        return tr("The upper 95 % bound of that prediction");
      case kDriver:
        return tr("The peak of driver allocated, sampled");
      case kStepMs:
        return tr("Median time of a step");
      case kTokensPerS:
        return tr("Median throughput, by the batch that the device executed");
      default:
        return {};
    }
  }
  if (role != Qt::DisplayRole) {
    return columnHeader(isText(section), role);
  }
  switch (section) {
    case kNumber:
      return tr("#");
    case kSetting:
      return tr("Setting");
    case kPredicted:
      return tr("Predicted");
    case kAtMost:
      return tr("At most");
    case kDriver:
      return tr("Measured");
    case kError:
      return tr("Error");
    case kStepMs:
      return tr("Step ms");
    case kTokensPerS:
      return tr("Tokens/s");
    default:
      return tr("Why");
  }
}

}  // namespace highwater::models
