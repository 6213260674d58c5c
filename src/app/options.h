#pragma once

#include <QSize>
#include <QString>
#include <QStringList>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "session/session.h"

namespace highwater::app {

struct WindowOptions {
  session::LaunchOptions launch;
  std::string recording;     ///< empty: none
  bool startAtOnce = false;  ///< train as soon as the window is there
};

struct RecordOptions {
  session::LaunchOptions launch;
  std::string output;
  bool force = false;
  bool endStalled = false;  ///< give up where the training stands still
  std::vector<FallbackAcceptance> accepted;
};

struct ReportOptions {
  std::string recording;
  bool json = false;
};

struct AcceptOptions {
  std::string recording;
  FallbackAcceptance acceptance;
};

struct ExportOptions {
  std::string recording;
  std::string image;
  QSize size{1600, 1000};
  bool dark = true;
};

struct DoctorOptions {
  enum class Question {
    kMachine,   ///< what this machine offers
    kWorkload,  ///< which ops of a workload would not run on mps
    kSelfTest,  ///< whether the device is as the probe takes it to be
  };
  Question question = Question::kMachine;
  session::LaunchOptions launch;
  QStringList checks;               ///< of the self-test, ids or their beginnings; empty: all
  std::optional<std::string> json;  ///< where a JSON object is wanted; "-": on stdout
};

/// What a command line asks for.
using Invocation = std::variant<WindowOptions, RecordOptions, ReportOptions, ExportOptions,
                                DoctorOptions, AcceptOptions>;

/// What to print and with which code to exit, where a command line asks for no more (--help) or is
/// wrong.
struct EarlyExit {
  int exitCode = 0;
  std::string text;
};

/// Reads a command line. Every number is checked for its range here, what the worker alone knows
/// (does a data file make sense, is a length past the position table) by the worker.
[[nodiscard]] std::variant<Invocation, EarlyExit> parseCommandLine(int argc,
                                                                   const char* const* argv);

/// "20:batch=32" or "20:batch=32,seq=128". kUsage names what is wrong with it.
[[nodiscard]] Result<SetKnobs> parseScheduledKnobs(const std::string& text);

}  // namespace highwater::app
