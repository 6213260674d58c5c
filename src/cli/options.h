#pragma once

#include <QSize>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/fact_limit.h"
#include "core/result.h"
#include "run/benchmark_run.h"
#include "run/sweep_run.h"
#include "session/script_process.h"
#include "session/session.h"

namespace highwater::cli {

/// Options of `highwater` without a command, and of `run` without --record: both open the window.
struct WindowOptions {
  session::LaunchOptions launch;
  std::optional<session::ScriptOptions> script;  ///< the user's own program, started at once
  std::string recording;                         ///< empty: none
  bool startAtOnce = false;                      ///< start training as soon as the window is open
  /// Of a program: a window is wanted also where there seems to be no display. Else it is recorded
  /// without one there.
  bool insists = false;
  bool quiet = false;  ///< of a program that is recorded without a window: no result at its end
};

/// What is tried in blocks of steps, to measure what it gains.
struct TriedOptions {
  std::vector<std::string> lines;  ///< of findings whose waits are left out
  bool all = false;                ///< the waits of all findings that can be tried
  /// Other values of knobs, each as its name and its value.
  std::vector<std::pair<std::string, std::string>> knobs;

  [[nodiscard]] bool any() const { return all || !lines.empty() || !knobs.empty(); }
};

/// Options of `highwater record`.
struct RecordOptions {
  session::LaunchOptions launch;
  TriedOptions tried;
  std::string output;  ///< empty: a name is made
  bool force = false;
  bool endStalled = false;  ///< end the run when the training stalls
  std::vector<FallbackAcceptance> accepted;
};

/// Options of `highwater run` without a window.
struct ScriptCommandOptions {
  session::ScriptOptions script;
  std::string output;  ///< the recording; empty: one in the recordings folder
  bool force = false;
  bool quiet = false;  ///< no result is printed at the end
  bool stdio = false;  ///< the run is another machine's: see session::StdioHost
  TriedOptions tried;
};

/// Options of `highwater sweep`.
struct SweepCommandOptions {
  session::LaunchOptions launch;
  std::optional<session::ScriptOptions> script;  ///< the user's own program, in place of a workload
  run::SweepRunOptions sweep;
  std::string output;  ///< empty: a name is made
  bool force = false;
  bool json = false;
};

/// Options of `highwater benchmark`.
struct BenchmarkCommandOptions {
  run::BenchmarkRunOptions run;
  std::string output;  ///< a file for the JSON; empty: none
  bool json = false;   ///< JSON instead of text
};

/// Options of `highwater report`.
struct ReportOptions {
  std::string recording;
  bool json = false;
  bool markdown = false;
  bool full = false;  ///< with the sections that only --full shows
};

/// Options of `highwater report` to a web page.
struct ReportPageOptions {
  std::string recording;
  std::string page;    ///< the file to write
  bool force = false;  ///< overwrites an existing page
  bool full = false;   ///< with the sections that only --full shows
};

/// Options of `highwater compare`.
struct CompareOptions {
  /// How the comparison is written.
  enum class Form { kText, kMarkdown, kJson };
  std::string a, b;  ///< recordings
  Form form = Form::kText;
  std::vector<analysis::FactLimit> limits;
};

/// Options of `highwater accept`.
struct AcceptOptions {
  std::string recording;
  FallbackAcceptance acceptance;
};

/// Options of `highwater export` to data, such as a trace.
struct DataExportOptions {
  std::string recording;
  std::string file;                                              ///< to write
  std::string table = "steps";                                   ///< of a CSV file
  bool force = false;                                            ///< overwrites one of its kind
  std::optional<std::int64_t> fromNs, untilNs;                   ///< since the start of the run
  std::optional<std::pair<std::uint32_t, std::uint32_t>> steps;  ///< the first and the last
};

/// Options of `highwater export` to a picture.
struct ExportOptions {
  std::string recording;
  std::string image;
  bool force = false;  ///< overwrites an existing picture
  QSize size{1600, 1000};
  bool dark = true;
  bool greyscale = false;
  bool tuning = false;                          ///< the view Tuning instead of the timeline
  std::optional<std::int64_t> fromNs, untilNs;  ///< since the start of the run
  std::optional<std::pair<std::uint32_t, std::uint32_t>> steps;  ///< the first and the last
};

/// Options of `highwater doctor`.
struct DoctorOptions {
  /// What the doctor examines.
  enum class Question {
    kMachine,   ///< device, versions, limits and environment of this machine
    kWorkload,  ///< which ops of a workload would not run on mps
    kSelfTest,  ///< whether the probe's assumptions about the device hold
    kPython,    ///< whether scripts of an interpreter can be watched
    kReport,    ///< all of it, in an archive to send
  };
  Question question = Question::kMachine;
  session::LaunchOptions launch;
  QStringList checks;               ///< ids of self-test checks, or their prefixes; empty: all
  QString interpreter;              ///< of kPython; of kReport, where empty means the likeliest
  std::string archive;              ///< of kReport; empty: a new one in the current folder
  std::optional<std::string> json;  ///< write JSON to this file; "-": to stdout
};

/// Result of a valid command line: its command, as the type of its options.
using Invocation =
    std::variant<WindowOptions, RecordOptions, ScriptCommandOptions, ReportOptions,
                 ReportPageOptions, ExportOptions, DataExportOptions, CompareOptions, DoctorOptions,
                 AcceptOptions, SweepCommandOptions, BenchmarkCommandOptions>;

/// The exit code and text of a command line that only asks for a text (--help), with kExitDone, or
/// is wrong.
struct EarlyExit {
  int exitCode = 0;
  std::string text;
};

/// Reads a command line and checks every option. Returns an EarlyExit if there is no command to
/// run. The worker checks the rest: the contents of a data file, and values whose range depends on
/// the device.
[[nodiscard]] std::variant<Invocation, EarlyExit> parseCommandLine(int argc,
                                                                   const char* const* argv);

/// The message for a recording that does not exist: `word` may be a misspelled command.
[[nodiscard]] std::string noSuchFileText(const std::string& word);

}  // namespace highwater::cli
