#pragma once

#include <QJsonObject>
#include <QStringList>
#include <string>

#include "cli/doctor/system_facts.h"
#include "core/messages.h"
#include "core/power_state.h"
#include "core/result.h"

namespace highwater::cli {

/// The findings of the doctor: the answer of the worker or why there is none, and the machine.
struct Diagnosis {
  QString workerProgram;  ///< empty where there is none
  Result<Hello> worker;
  SystemFacts system;
  QStringList environment;  ///< NAME=VALUE that the command line sets
  PowerState power = {};    ///< of this machine, also where the device is simulated
};

/// Writes the diagnosis as the text that `highwater doctor` prints.
[[nodiscard]] std::string doctorText(const Diagnosis& diagnosis);
/// Writes the diagnosis as the JSON of `highwater doctor --json`, with "schema": 1.
[[nodiscard]] QJsonObject doctorJson(const Diagnosis& diagnosis);

}  // namespace highwater::cli
