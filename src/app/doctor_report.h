#pragma once

#include <QJsonObject>
#include <QStringList>
#include <string>

#include "app/system_facts.h"
#include "core/messages.h"
#include "core/result.h"

namespace highwater::app {

/// What the doctor has found out: the worker's answer, or why there is none, and the machine.
struct Diagnosis {
  QString workerProgram;  ///< empty where there is none
  Result<Hello> worker;
  SystemFacts system;
  QStringList environment;  ///< NAME=VALUE that the command line sets
};

[[nodiscard]] std::string doctorText(const Diagnosis& diagnosis);
/// The same for programs; `schema` 1.
[[nodiscard]] QJsonObject doctorJson(const Diagnosis& diagnosis);

}  // namespace highwater::app
