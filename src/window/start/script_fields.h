#pragma once

#include <QString>
#include <map>

#include "core/result.h"

namespace highwater::window {

/// The fields of the form that may hold something wrong.
enum class ScriptField {
  kScript,
  kArguments,
  kWorkingFolder,
  kHost,
  kPython,
  kRecording,
  kFallback,
  kHighWatermark,
  kLowWatermark,
  kSimulatedMemory,
  kOtherVariables
};

/// What the user wrote into the form, as texts.
struct ScriptFields {
  QString script;         ///< a file, "-m package", or a launcher with its options
  QString arguments;      ///< as on a command line
  QString workingFolder;  ///< empty: see workingFolderOf(); on another machine the home there
  QString host;           ///< another machine, as ssh knows it; empty: this one
  QString python;         ///< a path, or a program's name
  bool simulated = false;
  QString level = QStringLiteral("monitor");
  QString recording;  ///< the name, without folder and suffix
  QString fallback;   ///< "0", "1", or empty: as inherited; so for all variables
  QString highWatermark, lowWatermark;
  QString simulatedMemory;  ///< of the simulated device, such as "8 GiB"
  QString otherVariables;   ///< NAME=VALUE words
};

/// What is wrong with the fields, in words for the user, who reads them beside the field.
using ScriptProblems = std::map<ScriptField, QString>;

/// Whether the script is to run on another machine, whose files cannot be looked at.
[[nodiscard]] bool runsElsewhere(const ScriptFields& fields);
/// The folder in which the script starts here: the named one; else the one of a script that is
/// named by an absolute path; else the folder in which this program was started.
[[nodiscard]] QString workingFolderOf(const ScriptFields& fields);
/// The file that the field "Script" names; empty for a module, a launcher, and a missing file.
[[nodiscard]] QString scriptFileOf(const ScriptFields& fields);
/// The program that the field "Python" names, a full path; empty if there is none.
[[nodiscard]] QString pythonOf(const ScriptFields& fields);
/// What a recording of this script is called, without a number: "train" for train.py.
[[nodiscard]] QString recordingStemOf(const ScriptFields& fields);

/// Whether a path is that of a file that may be executed.
[[nodiscard]] bool isProgram(const QString& path);
/// Whether a path has the suffix of a Python file.
[[nodiscard]] bool isPythonFile(const QString& path);
/// An error's reason as a note beside a field: with a capital letter.
[[nodiscard]] QString asNote(const Error& error);

}  // namespace highwater::window
