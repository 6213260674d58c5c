#include "cli/doctor/doctor_report.h"

#include <QJsonArray>
#include <algorithm>

#include "cli/terminal.h"
#include "core/names.h"
#include "core/plain_text.h"
#include "core/sim_knobs.h"
#include "core/torch_build.h"
#include "core/units.h"
#include "core/version.h"
#include "report/report_values.h"
#include "report/text_table.h"

namespace highwater::cli {
namespace {

using report::orNull;
using Align = report::TextTable::Align;

constexpr int kDoctorSchema = 1;

/// An environment variable and its value in the worker or, without a worker, in this process.
struct Setting {
  QString name;
  std::optional<QString> value;
  bool isWorkers = false;  ///< the worker has set it for itself
};

/// The value that the command line sets, or else that of this process.
std::optional<QString> ownValue(const Diagnosis& diagnosis, const QString& name) {
  for (const QString& entry : diagnosis.environment) {
    if (entry.section(u'=', 0, 0) == name) return entry.section(u'=', 1);
  }
  const QByteArray key = name.toLatin1();
  if (!qEnvironmentVariableIsSet(key.constData())) return std::nullopt;
  return qEnvironmentVariable(key.constData());
}

std::vector<Setting> settings(const Diagnosis& diagnosis) {
  std::vector<Setting> all;
  const auto knows = [&all](const QString& name) {
    return std::any_of(all.begin(), all.end(), [&](const Setting& s) { return s.name == name; });
  };
  if (diagnosis.worker) {
    for (const EnvironmentEntry& entry : diagnosis.worker->environment) {
      Setting setting{QString::fromStdString(entry.name), std::nullopt};
      if (entry.value) setting.value = QString::fromStdString(*entry.value);
      setting.isWorkers = setting.value && !ownValue(diagnosis, setting.name);
      all.push_back(setting);
    }
  }
  for (const QString& name : environmentNames()) {
    if (!knows(name)) all.push_back({name, ownValue(diagnosis, name)});
  }
  for (const SimKnob& knob : kSimKnobs) {
    const QString name = QString::fromUtf8(knob.variable);
    const auto value = ownValue(diagnosis, name);
    if (value && !value->isEmpty() && !knows(name)) all.push_back({name, value});
  }
  return all;
}

std::uint64_t watermarkBytes(std::uint64_t recommended, double ratio) {
  return static_cast<std::uint64_t>(static_cast<double>(recommended) * ratio);
}

std::string watermarkText(std::uint64_t recommended, double ratio) {
  if (ratio <= 0) return "none: no limit";
  const std::string times = formatDecimals(ratio, 2) + " \u00d7 recommended";
  if (recommended == 0) return times;
  return formatBytes(watermarkBytes(recommended, ratio)) + " (" + times + ")";
}

std::string yesNo(bool value) {
  return value ? "yes" : "no";
}

std::string deviceText(const Diagnosis& diagnosis) {
  report::TextTable table({Align::kLeft, Align::kLeft});
  if (!diagnosis.worker) {
    table.add({"worker", "no answer: " + plainText(diagnosis.worker.error().message)});
    return table.text(2);
  }
  const DeviceReport& device = diagnosis.worker->device;
  table.add({"MPS built",
             yesNo(device.mpsBuilt) + (device.mpsBuilt ? ", PyTorch has the backend"
                                                       : ", this PyTorch has no MPS backend")});
  table.add({"MPS available", yesNo(device.mpsAvailable)});
  table.add({"selected", std::string(deviceLabel(device)) +
                             " (asked for: " + plainText(device.requested) + ")"});
  table.add({"simulated", yesNo(device.simulated)});
  table.add({"reason", plainText(device.reason)});
  return table.text(2);
}

std::string blasText(const std::string& blas) {
  if (blas.empty()) return "unknown";
  if (!blas.starts_with(kReferenceBlas)) return plainText(blas);
  return plainText(blas) +
         ": training on the CPU and on a simulated device takes some eleven times as long as with "
         "OpenBLAS; install libopenblas0-pthread";
}

std::string versionText(const Diagnosis& diagnosis) {
  report::TextTable table({Align::kLeft, Align::kLeft});
  table.add({"highwater", kVersion});
  if (diagnosis.worker) {
    table.add({"highwater-worker", plainText(diagnosis.worker->workerVersion)});
    table.add({"PyTorch", plainText(diagnosis.worker->torchVersion)});
    table.add({"BLAS", blasText(diagnosis.worker->blas)});
  }
  table.add({"Qt", qVersion()});
  return table.text(2);
}

/// The oldest macOS for the worker's PyTorch, or for the oldest PyTorch if there is no worker.
int oldestMacOs(const Diagnosis& diagnosis) {
  return minimumMacOs(diagnosis.worker ? diagnosis.worker->torchVersion : "");
}

std::string macText(const Diagnosis& diagnosis) {
  const SystemFacts& system = diagnosis.system;
  const int oldest = oldestMacOs(diagnosis);
  std::string minimum = "macOS " + std::to_string(oldest);
  if (diagnosis.worker && oldest > minimumMacOs("")) {
    minimum += ", which PyTorch " + plainText(diagnosis.worker->torchVersion) + " asks for,";
  }
  if (!system.isMac) {
    return "not available on this system; real MPS needs an Apple-silicon Mac with " + minimum +
           " or later";
  }
  return system.macOs >= oldest ? "this macOS is new enough (" + minimum + " or later)"
                                : "this macOS is too old; " + minimum + " or later is needed";
}

std::string thermalText(events::ThermalState state) {
  const std::string name(thermalStateName(state));
  if (state < events::ThermalState::Serious) return name;
  return name +
         ": the system slows processors and GPU down; let the machine cool down before you "
         "measure";
}

std::string lowPowerText(events::PowerMode mode, bool isMac) {
  switch (mode) {
    case events::PowerMode::Normal:
      return "off";
    case events::PowerMode::Low:
      return "on: the system slows processors and GPU down; turn it off before you measure (" +
             std::string(lowPowerSettings(isMac)) + ')';
    case events::PowerMode::Unknown:
      break;
  }
  return "unknown";
}

std::string wiredLimitText(const MemoryLimits& limits) {
  if (!limits.gpuWiredLimitBytes) return "unknown: this system has no iogpu.wired_limit_mb";
  if (*limits.gpuWiredLimitBytes == 0) return "the system's default (iogpu.wired_limit_mb is 0)";
  return formatBytes(*limits.gpuWiredLimitBytes) + " (iogpu.wired_limit_mb)";
}

std::string systemText(const Diagnosis& diagnosis) {
  const SystemFacts& system = diagnosis.system;
  report::TextTable table({Align::kLeft, Align::kLeft});
  table.add({"system", system.name.toStdString()});
  table.add({"kernel", system.kernel.toStdString()});
  table.add({"architecture", system.architecture.toStdString()});
  table.add({"Metal", macText(diagnosis)});
  table.add({"thermal state", thermalText(diagnosis.power.thermal)});
  table.add({"Low Power Mode", lowPowerText(diagnosis.power.mode, system.isMac)});
  for (const Tool& tool : system.tools) {
    table.add({tool.name.toStdString(),
               tool.path.isEmpty()
                   ? "not found"
                   : (tool.version + " (" + tool.path + ")").trimmed().toStdString()});
  }
  return table.text(2);
}

std::string memoryText(const Hello& hello) {
  const MemoryLimits& limits = hello.limits;
  const std::string simulated = hello.device.simulated ? " (simulated)" : "";
  report::TextTable table({Align::kLeft, Align::kLeft});
  table.add({"recommended max", limits.recommendedBytes > 0
                                    ? formatBytes(limits.recommendedBytes) + simulated
                                    : "unknown"});
  table.add({"low watermark", watermarkText(limits.recommendedBytes, limits.lowWatermarkRatio)});
  table.add({"high watermark", watermarkText(limits.recommendedBytes, limits.highWatermarkRatio)});
  table.add(
      {"physical memory", limits.systemBytes > 0 ? formatBytes(limits.systemBytes) : "unknown"});
  table.add({"GPU wired limit", wiredLimitText(limits)});
  return table.text(2);
}

std::string environmentText(const Diagnosis& diagnosis) {
  std::string text;
  for (const Setting& setting : settings(diagnosis)) {
    std::string value = setting.value ? "= " + plainText(setting.value->toStdString()) : "unset";
    if (setting.isWorkers) value += ", set by the worker itself";
    const QString otherwise = environmentDefault(setting.name);
    if (!setting.value && !otherwise.isEmpty()) value += ", which means " + otherwise.toStdString();
    text += "  " + plainText(setting.name.toStdString()) + ' ' + value + '\n';
    const QString meaning = environmentMeaning(setting.name);
    if (!meaning.isEmpty()) text += "      " + meaning.toStdString() + '\n';
  }
  return text;
}

QJsonObject deviceJson(const Hello& hello) {
  const DeviceReport& device = hello.device;
  return {{"requested", QString::fromStdString(device.requested)},
          {"selected", QString::fromStdString(device.selected)},
          {"mps_built", device.mpsBuilt},
          {"mps_available", device.mpsAvailable},
          {"simulated", device.simulated},
          {"reason", QString::fromStdString(device.reason)}};
}

QJsonObject memoryJson(const MemoryLimits& limits) {
  const auto bytes = [](std::uint64_t value) { return static_cast<qint64>(value); };
  const auto watermark = [&](double ratio) {
    return orNull(ratio > 0 && limits.recommendedBytes > 0,
                  bytes(watermarkBytes(limits.recommendedBytes, ratio)));
  };
  return {{"recommended", orNull(limits.recommendedBytes > 0, bytes(limits.recommendedBytes))},
          {"low_watermark_ratio", limits.lowWatermarkRatio},
          {"high_watermark_ratio", limits.highWatermarkRatio},
          {"low_watermark", watermark(limits.lowWatermarkRatio)},
          {"high_watermark", watermark(limits.highWatermarkRatio)},
          {"system", orNull(limits.systemBytes > 0, bytes(limits.systemBytes))},
          {"gpu_wired_limit", orNull(limits.gpuWiredLimitBytes.has_value(),
                                     bytes(limits.gpuWiredLimitBytes.value_or(0)))}};
}

QJsonObject systemJson(const Diagnosis& diagnosis) {
  const SystemFacts& system = diagnosis.system;
  const int oldest = oldestMacOs(diagnosis);
  const PowerState& power = diagnosis.power;
  return {{"name", system.name},
          {"kernel", system.kernel},
          {"architecture", system.architecture},
          {"is_mac", system.isMac},
          {"macos_minimum", QString::number(oldest)},
          {"macos_new_enough", orNull(system.isMac, system.macOs >= oldest)},
          {"thermal_state", orNull(power.thermal != events::ThermalState::Unknown,
                                   report::text(thermalStateName(power.thermal)))},
          {"low_power_mode",
           orNull(power.mode != events::PowerMode::Unknown, power.mode == events::PowerMode::Low)}};
}

}  // namespace

std::string doctorText(const Diagnosis& diagnosis) {
  std::string text = "Device\n" + deviceText(diagnosis) + "\nVersions\n" + versionText(diagnosis) +
                     "\nSystem\n" + systemText(diagnosis);
  if (diagnosis.worker) text += "\nMemory limits\n" + memoryText(*diagnosis.worker);
  return text + "\nEnvironment\n" + environmentText(diagnosis);
}

QJsonObject doctorJson(const Diagnosis& diagnosis) {
  QJsonObject worker{
      {"program", orNull(!diagnosis.workerProgram.isEmpty(), diagnosis.workerProgram)},
      {"answered", diagnosis.worker.ok()},
      {"error", QJsonValue()}};
  QJsonObject versions{{"highwater", kVersion}, {"qt", qVersion()}};
  QJsonObject report{{"schema", kDoctorSchema},
                     {"system", systemJson(diagnosis)},
                     {"device", QJsonValue()},
                     {"memory", QJsonValue()}};
  if (diagnosis.worker) {
    const Hello& hello = *diagnosis.worker;
    report["device"] = deviceJson(hello);
    report["memory"] = memoryJson(hello.limits);
    versions["worker"] = QString::fromStdString(hello.workerVersion);
    versions["torch"] = QString::fromStdString(hello.torchVersion);
    versions["blas"] = orNull(!hello.blas.empty(), QString::fromStdString(hello.blas));
  } else {
    worker["error"] = QString::fromStdString(diagnosis.worker.error().message);
  }
  QJsonArray tools;
  for (const Tool& tool : diagnosis.system.tools) {
    tools.append(QJsonObject{{"name", tool.name},
                             {"path", orNull(!tool.path.isEmpty(), tool.path)},
                             {"version", orNull(!tool.version.isEmpty(), tool.version)}});
  }
  QJsonArray environment;
  for (const Setting& setting : settings(diagnosis)) {
    environment.append(QJsonObject{
        {"name", setting.name},
        {"value", setting.value ? QJsonValue(*setting.value) : QJsonValue()},
        {"set_by_worker", setting.isWorkers},
        {"default",
         orNull(!environmentDefault(setting.name).isEmpty(), environmentDefault(setting.name))},
        {"meaning", environmentMeaning(setting.name)}});
  }
  report["worker"] = worker;
  report["versions"] = versions;
  report["tools"] = tools;
  report["environment"] = environment;
  return report;
}

}  // namespace highwater::cli
