#include "window/retry_setting.h"

#include <QCoreApplication>
#include <algorithm>

#include "core/exit_codes.h"

namespace highwater::window {

bool ranOutOfMemory(const analysis::LiveStore& store) {
  const auto& end = store.end();
  return end && end->reason == RunEnd::Reason::kFailed && end->exitCode == kExitEndedEarly;
}

std::optional<Knobs> settingAfterOutOfMemory(const analysis::LiveStore& store) {
  if (!store.run() || store.ownScript() || !ranOutOfMemory(store)) return {};
  const Knobs failed = store.knobs();
  const auto& steps = store.steps().records;
  const auto fitted = std::find_if(steps.rbegin(), steps.rend(), [&](const auto& step) {
    const bool same =
        step.batch_size() == failed.batchSize && step.sequence_length() == failed.sequenceLength;
    return !same && step.batch_size() <= failed.batchSize &&
           step.sequence_length() <= failed.sequenceLength;
  });
  Knobs setting = failed;
  if (fitted != steps.rend()) {
    setting.batchSize = fitted->batch_size();
    setting.sequenceLength = fitted->sequence_length();
  } else if (failed.batchSize > 1) {
    setting.batchSize = failed.batchSize / 2;
  } else if (failed.sequenceLength > 1) {
    setting.sequenceLength = failed.sequenceLength / 2;
  } else {
    return {};
  }
  return setting;
}

QString settingText(const Knobs& setting, const Knobs& failed) {
  const QString batch =
      QCoreApplication::translate("RetrySetting", "batch %1").arg(setting.batchSize);
  if (setting.sequenceLength == failed.sequenceLength) return batch;
  const QString length =
      QCoreApplication::translate("RetrySetting", "length %1").arg(setting.sequenceLength);
  return setting.batchSize == failed.batchSize ? length : batch + QStringLiteral(", ") + length;
}

}  // namespace highwater::window
