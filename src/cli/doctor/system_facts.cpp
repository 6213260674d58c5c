#include "cli/doctor/system_facts.h"

#include <QOperatingSystemVersion>
#include <QProcess>
#include <QStandardPaths>
#include <QSysInfo>
#include <QVersionNumber>
#include <algorithm>
#include <array>

#include "core/sim_knobs.h"
#include "session/command_line_tools.h"
#include "session/line_log.h"

namespace highwater::cli {
namespace {

constexpr int kVersionTimeoutMs = 5000;

struct Variable {
  const char* name;
  const char* meaning;
};
// The variables that are not in kSimKnobs.
constexpr std::array kVariables = {
    Variable{"PYTORCH_MPS_FAST_MATH", "1: faster, less exact Metal kernels"},
    Variable{"PYTORCH_MPS_PREFER_METAL", "set: Metal kernels instead of MPSGraph for matmul"},
    Variable{"PYTORCH_MPS_LOG_PROFILE_INFO", "bits that make PyTorch print its profile"},
    Variable{"PYTORCH_MPS_TRACE_SIGNPOSTS", "bits that emit signposts for Instruments"},
    Variable{"OMP_WAIT_POLICY", "PASSIVE, which the worker sets, lets idle threads sleep"},
    Variable{"OMP_NUM_THREADS", "number of threads of CPU kernels, also in the simulated device"},
    Variable{"HIGHWATER_WORKER", "the worker program to start"},
    Variable{"HIGHWATER_HANG_TIMEOUT_MS",
             "a worker that is silent for longer counts as hung (default 10000)"},
    Variable{"HIGHWATER_START_TIMEOUT_MS", "the same limit until training starts (default 60000)"},
};

Tool findTool(const QString& name, bool usrBinHasStubs) {
  Tool tool{name, QStandardPaths::findExecutable(name), {}};
  if (usrBinHasStubs && tool.path.startsWith(QLatin1String("/usr/bin/"))) tool.path.clear();
  if (tool.path.isEmpty()) return tool;
  QProcess process;
  process.setProcessChannelMode(QProcess::MergedChannels);
  process.setStandardInputFile(QProcess::nullDevice());
  process.start(tool.path, {QStringLiteral("--version")});
  if (!process.waitForFinished(kVersionTimeoutMs)) {
    process.kill();
    process.waitForFinished(kVersionTimeoutMs);
  } else if (process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0) {
    const QString text = QString::fromUtf8(process.readAll());
    tool.version = session::plainText(text.section(u'\n', 0, 0)).trimmed();
  }
  return tool;
}

/// nullptr: the variable is none of kSimKnobs.
const SimKnob* simKnobOf(const QString& name) {
  const auto knob = std::find_if(kSimKnobs.begin(), kSimKnobs.end(), [&](const SimKnob& each) {
    return name == QLatin1String(each.variable);
  });
  return knob == kSimKnobs.end() ? nullptr : &*knob;
}

}  // namespace

SystemFacts readSystemFacts() {
  SystemFacts facts;
  facts.name = QSysInfo::prettyProductName();
  facts.kernel = QSysInfo::kernelType() + u' ' + QSysInfo::kernelVersion();
  facts.architecture = QSysInfo::currentCpuArchitecture();
#ifdef Q_OS_MACOS
  facts.isMac = true;
  facts.macOs = QOperatingSystemVersion::current().majorVersion();
#endif
  const bool stubs = session::lacksCommandLineTools();
  for (const char* name : {"python3", "c++", "clang++", "g++", "cmake", "ninja"}) {
    facts.tools.push_back(findTool(QLatin1String(name), stubs));
  }
  return facts;
}

int minimumMacOs(std::string_view torchVersion) {
  const auto version = QVersionNumber::fromString(
      QString::fromUtf8(torchVersion.data(), static_cast<qsizetype>(torchVersion.size())));
  return version >= QVersionNumber(2, 15) ? 15 : 14;
}

QString environmentMeaning(const QString& name) {
  const auto known = std::find_if(kVariables.begin(), kVariables.end(),
                                  [&](const Variable& v) { return name == QLatin1String(v.name); });
  if (known != kVariables.end()) return QString::fromUtf8(known->meaning);
  const SimKnob* knob = simKnobOf(name);
  return knob ? QString::fromUtf8(knob->help) : QString();
}

QString environmentDefault(const QString& name) {
  const SimKnob* knob = simKnobOf(name);
  return knob ? QString::fromUtf8(knob->defaultValue) : QString();
}

std::vector<QString> environmentNames() {
  std::vector<QString> names;
  for (const SimKnob& knob : kSimKnobs) {
    if (knob.scope == SimKnob::Scope::PyTorch) names.push_back(QLatin1String(knob.variable));
  }
  for (const Variable& variable : kVariables) names.push_back(QLatin1String(variable.name));
  return names;
}

}  // namespace highwater::cli
