#pragma once

#include <QJsonObject>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "tuning/sweep.h"

namespace highwater::report {

/// A setting's row in the table of a sweep, up to why it was measured: number, setting, predicted
/// driver memory and its upper bound, measured driver memory, error of the prediction, step,
/// tokens/s. Unknown cells are "–".
[[nodiscard]] std::vector<std::string> sweepCells(std::size_t number,
                                                  const tuning::SweptSetting& swept);
/// The headings of these cells.
[[nodiscard]] std::vector<std::string> sweepHeadings(const analysis::LiveStore& store);
/// Why a setting was measured, behind "above the limit; " where it is.
[[nodiscard]] std::string sweepReason(const tuning::SweptSetting& swept);

/// A setting as {batch, length}.
[[nodiscard]] QJsonObject settingJson(tuning::Setting setting);
/// One setting of a sweep, as `highwater sweep --json` and `report --json` list it.
[[nodiscard]] QJsonObject sweptJson(const tuning::SweptSetting& swept);

/// A setting that a sweep left out, likewise.
[[nodiscard]] QJsonObject leftOutJson(const tuning::SweptSetting& swept);

/// Adds the key `sweep` of the recording's last sweep to the JSON report; null without one.
void addSweepPart(const analysis::LiveStore& store, QJsonObject& report);
/// The recording's last sweep as a section of the text report; empty without one.
[[nodiscard]] std::string sweepSection(const analysis::LiveStore& store, std::size_t width);

}  // namespace highwater::report
