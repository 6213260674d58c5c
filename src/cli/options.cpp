#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <sstream>

#include "cli/benchmark_options.h"
#include "cli/command_line_checks.h"
#include "cli/data_export.h"
#include "cli/help_text.h"
#include "cli/picture_range.h"
#include "cli/run_options.h"
#include "cli/sweep_options.h"
#include "core/exit_codes.h"
#include "core/option_values.h"
#include "core/scenarios.h"
#include "core/version.h"
#include "report/run_tables.h"
#include "run/fallback_acceptance.h"
#include "run/tried_knob.h"
#include "session/remote_start.h"

namespace highwater::cli {
namespace {

constexpr std::uint32_t kDefaultSteps = 200;
constexpr int kLeastPictureWidth = 800;
constexpr int kLeastPictureHeight = 600;
constexpr int kMostPicture = 16'384;

Result<QSize> readSize(const std::string& text) {
  const auto cross = text.find('x');
  if (cross == std::string::npos) {
    return refusedValue("--size", text, "WIDTHxHEIGHT, for example 1600x1000");
  }
  auto width =
      parseWhole("the width of --size", text.substr(0, cross), kLeastPictureWidth, kMostPicture);
  if (!width) return width.error();
  auto height =
      parseWhole("the height of --size", text.substr(cross + 1), kLeastPictureHeight, kMostPicture);
  if (!height) return height.error();
  return QSize(*width, *height);
}

/// The command line: CLI11 fills the text members, readInvocation() checks and converts them.
class CommandLine {
 public:
  CommandLine() {
    app_.name("highwater");
    app_.formatter(std::make_shared<HelpText>());
    app_.add_option("FILE", window_.recording, "A recording to open in the window")->type_name("");
    app_.add_flag("--run", window_.startAtOnce, "Start training as soon as the window is open");
    app_.set_help_all_flag("--help-all", "List all options: more knobs, MPS, the simulated device");
    app_.set_version_flag("--version", std::string("highwater ") + kVersion,
                          "Print the version and exit");
    addRunOptions(app_, runTexts_, {"--steps"}, kElsewhereGroup);
    app_.require_subcommand(0, 1);
    addRun();
    addRecord();
    addSweep();
    addBenchmark();
    addReport();
    addCompare();
    addExport();
    addAccept();
    addDoctor();
    app_.footer(
        "Without a command the window opens, empty or with FILE. It takes the options of a run "
        "too, such as --device and --batch: see highwater record --help. Exit codes: 0 done, 1 "
        "failed, 2 wrong usage, 3 the run ended early.");
    refuseValuesOfFlags(app_);
  }

  [[nodiscard]] std::string noSuchFileText(const std::string& word) const {
    return unknownCommandText(word, commandNames(app_));
  }

  std::variant<Invocation, EarlyExit> parse(int argc, const char* const* argv) {
    std::vector<const char*> words(argv, argv + argc);
    const std::vector<std::string> program = takeProgram(words);
    if (auto follows = checkSeparator(words); !follows) {
      return refuse(follows.error().message, argc, argv);
    }
    if (auto passable = checkProgramWords(words); !passable) {
      return refuse(passable.error().message, argc, argv);
    }
    try {
      app_.parse(static_cast<int>(words.size()), words.data());
    } catch (const CLI::Success& asked) {
      std::ostringstream text;
      app_.exit(asked, text, text);
      return EarlyExit{kExitDone, text.str()};
    } catch (const CLI::ParseError& wrong) {
      return refuse(problemText(app_, wrong), argc, argv);
    }
    if (!program.empty()) scriptCommand_ = program;
    if (auto given = checkPlausible(app_); !given) return refuse(given.error().message, argc, argv);
    auto read = readInvocation();
    if (!read) return refuse(read.error().message, argc, argv);
    return std::move(*read);
  }

 private:
  /// Whether the command is one that a program of the user's follows.
  static bool takesProgram(const std::vector<const char*>& words) {
    if (words.size() < 2) return false;
    const std::string_view command = words[1];
    return command == "run" || command == "sweep";
  }

  /// Takes the user's program and its arguments, behind --, out of the words, but for one that
  /// stands for them: CLI11 would take "[1,2]" for a list, and drop "[]". Empty without --.
  static std::vector<std::string> takeProgram(std::vector<const char*>& words) {
    const auto separator = std::find_if(words.begin(), words.end(), [](const char* word) {
      return std::string_view(word) == "--";
    });
    if (!takesProgram(words) || words.end() - separator < 2) return {};
    std::vector<std::string> program(separator + 1, words.end());
    words.erase(separator + 2, words.end());
    words.back() = "program";
    return program;
  }

  /// Refuses a sweep with -- and no program behind it, which would be of the built-in workload.
  static Result<void> checkSeparator(const std::vector<const char*>& words) {
    if (words.size() > 2 && std::string_view(words[1]) == "sweep" &&
        std::string_view(words.back()) == "--") {
      return usageError("no program follows --; for example: highwater sweep -- python3 train.py");
    }
    return {};
  }

  /// The same for a program without -- before it: CLI11 must not change its words.
  static Result<void> checkProgramWords(const std::vector<const char*>& words) {
    for (std::size_t i = 2; takesProgram(words) && i < words.size(); ++i) {
      const std::string_view word = words[i];
      if (word.starts_with('[')) {
        return usageError("\"" + shortened(word) + "\" needs -- before the program");
      }
    }
    return {};
  }

  /// Refuses a command line. Options of the user's program that stand without -- are taken for
  /// those of `run`, whatever is then wrong with them.
  EarlyExit refuse(std::string text, int argc, const char* const* argv) const {
    const char* const* end = argv + argc;
    const auto separator =
        std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
    if (!scriptCommand_.empty() && separator == end) {
      const std::string command = run_->parsed() ? "run" : "sweep";
      text += "; put -- before the program: highwater " + command + " -- " +
              scriptCommand_.front() + " ...";
    }
    return {kExitUsage, std::move(text)};
  }

  void addRecord() {
    record_ = app_.add_subcommand("record", "Train a workload and record it, without a window");
    record_
        ->add_option("-o,--output", recordOptions_.output,
                     "The recording to write; without it the name is made")
        ->type_name("FILE");
    record_->add_flag("--force", recordOptions_.force, "Overwrite an existing recording");
    recordTexts_.defaults.steps = kDefaultSteps;
    addRunOptions(*record_, recordTexts_, {});
    mayRepeat(record_->add_option("--set", recordTexts_.set,
                                  "Change knobs at a step, as in 20:batch=32,seq=128"),
              "STEP:KNOB=VALUE");
    mayRepeat(record_->add_option("--accept-fallback", acceptedTexts_,
                                  "Accept an op's fallback; may be repeated"),
              "OP=REASON");
    mayRepeat(record_->add_option("--try", tryTexts_,
                                  "Measure in turns what another value of a knob gains"),
              "KNOB=VALUE");
    record_->add_flag("--end-stalled", recordOptions_.endStalled,
                      "End the run when an op takes longer than 10 s");
  }

  void addSweep() {
    sweep_ = app_.add_subcommand("sweep", "Measure which batch size trains best and is safe");
    sweep_
        ->add_option("-o,--output", sweepOptions_.output,
                     "The recording to write; without it the name is made")
        ->type_name("FILE");
    sweep_->add_flag("--force", sweepOptions_.force, "Overwrite an existing recording");
    sweep_->add_flag("--json", sweepOptions_.json, "Print one JSON object instead of a table");
    addSweepOptions(*sweep_, sweepTexts_);
    addRunOptions(*sweep_, sweepRunTexts_, {"--steps", "--on-abort", "--checkpoint-every"});
    sweep_->add_option("COMMAND", scriptCommand_, "Your own program and its arguments, after --")
        ->type_name("");
    sweep_->footer(
        "--batch and --seq are measured first. No other setting is tried whose predicted memory "
        "may exceed the limit. The spread is the interquartile range of the tokens per second, as "
        "a share of their median. Of your own program, as in highwater sweep -- python3 train.py, "
        "the sweep turns the batch size of the DataLoader or a knob, begins with the program's own "
        "value, and interrupts the program at its end, as Ctrl+C does. What the program writes "
        "into files it writes as in any training.");
  }

  void addBenchmark() {
    benchmark_ = app_.add_subcommand("benchmark", "Compare the CPU with mps: speed and rounding");
    benchmark_->add_flag("--json", benchmarkOptions_.json, "Print one JSON object instead of text");
    benchmark_
        ->add_option("-o,--output", benchmarkOptions_.output, "Write the JSON to this file too")
        ->type_name("FILE");
    addBenchmarkOptions(*benchmark_, benchmarkTexts_);
  }

  /// An option that takes one value each time that it is given.
  static CLI::Option* mayRepeat(CLI::Option* option, const std::string& type) {
    return option->type_name(type)->type_size(1)->allow_extra_args(false)->multi_option_policy(
        CLI::MultiOptionPolicy::TakeAll);
  }

  /// Sorts what --try names into lines and knobs.
  Result<void> readTry(TriedOptions& tried, bool takesLines) const {
    for (std::string text : tryTexts_) {
      const std::string given = text;
      text.erase(0, text.rfind('/') + 1);  // findings name the file alone
      const std::size_t colon = text.rfind(':');
      const std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
      const bool isLine = takesLines && colon != 0 &&
                          parseWhole<std::uint32_t>("the line", number, 1U, 10'000'000U);
      if (isLine) {
        tried.lines.push_back(std::move(text));
        continue;
      }
      const std::size_t equals = given.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == given.size()) {
        return refusedValue("--try", given,
                            takesLines ? "a file and a line, as in train.py:41, or a knob and its "
                                         "value, as in accumulation=4"
                                       : "a knob and its value, as in accumulate=4");
      }
      tried.knobs.emplace_back(given.substr(0, equals), given.substr(equals + 1));
      if (takesLines) continue;
      auto value = run::workloadValueOf(tried.knobs.back().first, tried.knobs.back().second);
      if (!value) return usageError("--try " + given + ": " + value.error().message);
    }
    return {};
  }

  void addRun() {
    run_ = app_.add_subcommand("run", "Watch the training of your own program, in the window");
    auto* record =
        run_->add_option("--record", script_.output, "Write a recording there, without a window")
            ->type_name("FILE");
    run_->add_flag("--force", script_.force, "Overwrite an existing recording")->needs(record);
    run_->add_flag("--window", window_.insists,
                   "Open the window also where there seems to be no display")
        ->excludes(record);
    auto* on = run_->add_option("--on", remoteHost_,
                                "Run it on another machine, by ssh: HOST or HOST:FOLDER")
                   ->type_name("HOST");
    run_->add_flag("--stdio", script_.stdio)->group("")->excludes(on)->excludes("--window");
    run_->add_flag("--quiet", script_.quiet, "Print no result at the end, only what went wrong");
    mayRepeat(run_->add_option(
                  "--try", tryTexts_,
                  "Measure what a change gains, steps with it and without in turns. LINE, as in "
                  "train.py:41: without the waits there, and with old values for those it reads. "
                  "KNOB=VALUE: of a highwater.knob(). May be repeated"),
              "LINE or KNOB=VALUE")
        ->excludes("--window");
    run_->add_flag("--try-all", script_.tried.all,
                   "The same of each finding about values that the steps seem not to need")
        ->excludes("--window");
    run_->add_option("--device", scriptDevice_,
                     "What mps is in the program: auto (as without Highwater) or sim")
        ->type_name("NAME")
        ->capture_default_str();
    run_->add_option("--level", scriptLevel_, "What is recorded: off, monitor or ops")
        ->type_name("NAME")
        ->capture_default_str();
    run_->add_option("COMMAND", scriptCommand_, "The program and its arguments, after --")
        ->type_name("")
        ->required();
    run_->footer(
        "For example: highwater run -- python3 train.py --epochs 2. The program keeps its Python, "
        "its environment, its terminal and its exit code. Without a display, as by ssh, the run is "
        "recorded into the recordings folder. At its end a result is printed on stderr.");
    scriptSim_.addTo(*run_);
  }

  [[nodiscard]] QStringList programWords() const {
    QStringList words;
    for (const std::string& each : scriptCommand_) {
      words << QString::fromLocal8Bit(each.c_str());
    }
    return words;
  }

  Result<void> readHost(session::ScriptOptions& script) const {
    if (run_->get_option("--on")->empty()) return {};
    const std::size_t colon = remoteHost_.find(':');
    const QString host = QString::fromStdString(remoteHost_.substr(0, colon));
    const bool isUrl = remoteHost_.find("://") != std::string::npos;
    if (!session::isSshHost(host) || isUrl) {
      return refusedValue("--on", remoteHost_, "a host that ssh knows, as in user@studio:project");
    }
    script.host = host;
    if (colon != std::string::npos) {
      script.workingFolder = QString::fromStdString(remoteHost_.substr(colon + 1));
    }
    return {};
  }

  Result<Invocation> readRun() {
    constexpr std::string_view kScriptDevices[] = {"auto", "sim"};
    if (auto known = checkChoice("--device", scriptDevice_, kScriptDevices); !known)
      return known.error();
    if (auto known = checkChoice("--level", scriptLevel_, kLevelWords); !known) {
      return known.error();
    }
    auto environment = scriptSim_.environment(scriptDevice_ == "sim" ? "sim" : "mps");
    if (!environment) return environment.error();
    script_.script.simulated = scriptDevice_ == "sim";
    script_.script.probeLevel = QString::fromStdString(scriptLevel_);
    script_.script.environment = *environment;
    script_.script.command = programWords();
    if (auto read = readHost(script_.script); !read) return read.error();
    if (auto read = readTry(script_.tried, /*takesLines=*/true); !read) return read.error();
    if ((script_.tried.all || !script_.tried.lines.empty()) && scriptLevel_ == "off") {
      return usageError("--try needs the waits, which --level off does not record");
    }
    if (script_.stdio || script_.tried.any() || !script_.output.empty()) {
      return Invocation(script_);
    }
    window_.script = script_.script;
    window_.quiet = script_.quiet;
    return Invocation(window_);
  }

  void addAccept() {
    accept_ = app_.add_subcommand(
        "accept", "Accept a fallback of a recording, so that it is no longer a finding");
    accept_->set_help_all_flag();
    accept_->add_option("FILE", acceptOptions_.recording, "The recording")
        ->type_name("")
        ->required();
    accept_->add_option("--fallback", acceptedOp_, "The op, named as in the report")
        ->type_name("OP")
        ->required();
    auto* reason = accept_
                       ->add_option("--reason", acceptedReason_,
                                    "Why it may run on the CPU; kept in the recording")
                       ->type_name("TEXT");
    accept_
        ->add_flag("--withdraw", withdraws_,
                   "Withdraw an acceptance: the fallback is a finding again")
        ->excludes(reason);
  }

  void addReport() {
    report_ =
        app_.add_subcommand("report", "Summarise a recording as text, Markdown, JSON or page");
    report_->set_help_all_flag();
    report_->add_option("FILE", reportOptions_.recording, "The recording")
        ->type_name("")
        ->required();
    report_->add_flag("--full", reportOptions_.full,
                      "Also phases, idle time, device switches and memory growth");
    auto* json =
        report_->add_flag("--json", reportOptions_.json, "Print one JSON object instead of text");
    auto* markdown = report_
                         ->add_flag("--markdown", reportOptions_.markdown,
                                    "Print Markdown, to paste into an issue")
                         ->excludes(json);
    auto* html = report_
                     ->add_option("--html", page_.page,
                                  "Write a web page with pictures instead, as one file")
                     ->type_name("FILE")
                     ->excludes(json)
                     ->excludes(markdown);
    report_->add_flag("--force", page_.force, "Overwrite an existing page")->needs(html);
    report_->footer("The text is wrapped to the terminal, or to $COLUMNS.");
  }

  Result<Invocation> readReport() {
    if (report_->count("--html") == 0) return Invocation(reportOptions_);
    if (page_.page == "-") return usageError("--html writes a file; give its name in place of -");
    page_.recording = reportOptions_.recording;
    page_.full = reportOptions_.full;
    return Invocation(page_);
  }

  void addCompare() {
    compare_ = app_.add_subcommand("compare", "Say what tells two recordings apart");
    compare_->set_help_all_flag();
    compare_->add_option("A", compareOptions_.a, "The recording to compare with")
        ->type_name("")
        ->required();
    compare_->add_option("B", compareOptions_.b, "The recording after a change")
        ->type_name("")
        ->required();
    auto* json = compare_->add_flag("--json", comparesAsJson_, "Print one JSON object");
    compare_->add_flag("--markdown", comparesAsMarkdown_, "Print Markdown, to paste into an issue")
        ->excludes(json);
    mayRepeat(compare_->add_option(
                  "--fail-if", limitTexts_,
                  "Exit with 1 where B is worse, as in 'step_ms.p50 > +5 %'; may be repeated"),
              "LIMIT");
    std::string keys;
    for (const analysis::Fact& fact : analysis::facts()) {
      keys += (keys.empty() ? "" : ", ") + std::string(fact.key);
    }
    compare_->footer(
        "A LIMIT is a key, > or <, and a number: with a sign for the change from A to B (+5 %, "
        "+20 ms, -64 MiB), without one for B's own value (250 ms). A change of a step's numbers "
        "counts only where it is more than chance explains. Keys: " +
        keys + '.');
  }

  Result<Invocation> readCompare() {
    for (const std::string& text : limitTexts_) {
      auto limit = analysis::parseFactLimit("--fail-if", text);
      if (!limit) return limit.error();
      compareOptions_.limits.push_back(std::move(*limit));
    }
    compareOptions_.form = comparesAsJson_       ? CompareOptions::Form::kJson
                           : comparesAsMarkdown_ ? CompareOptions::Form::kMarkdown
                                                 : CompareOptions::Form::kText;
    return Invocation(compareOptions_);
  }

  void addExport() {
    export_ = app_.add_subcommand("export", "Write a recording as a picture, a trace or tables");
    export_->set_help_all_flag();
    export_->add_option("FILE", exportOptions_.recording, "The recording")
        ->type_name("")
        ->required();
    const auto add = [this](const char* name, std::string& text, const std::string& help,
                            const char* type) {
      auto* option = export_->add_option(name, text, help)->type_name(type);
      return text.empty() ? option : option->capture_default_str();
    };
    add("--to", exportOptions_.image,
        "The file to write: a picture of the window (run.png), or data by its ending (below)",
        "FILE")
        ->required();
    export_->add_flag("--force", exportOptions_.force, "Overwrite an existing file of that kind");
    add("--from", fromText_, "Begin at this time of the run, for example 0:41.5", "TIME");
    add("--until", untilText_, "End at this time of the run, for example 52s", "TIME");
    add("--steps", stepsText_, "Write these steps, for example 120-139", "A-B")
        ->excludes("--from")
        ->excludes("--until");
    add("--table", tableText_, "The table to write as CSV, for example sync_points (default steps)",
        "NAME");
    add("--size", sizeText_, "Size of the picture in pixels", "WIDTHxHEIGHT");
    add("--theme", themeText_, "dark or light", "NAME");
    add("--view", viewText_, "timeline or tuning", "NAME");
    export_->add_flag("--greyscale", exportOptions_.greyscale,
                      "Without colour, to see that nothing is told by colour alone");
    export_->footer(
        "Without --from, --until and --steps the whole run is written. What is not a picture: " +
        dataFileHelp() + ".");
  }

  /// The part of the run that is exported.
  Result<void> readExportRange() {
    const auto read = [](const char* name, const std::string& text,
                         std::optional<std::int64_t>& ns) -> Result<void> {
      if (text.empty()) return {};
      auto time = parseRunTime(name, text);
      if (!time) return time.error();
      ns = *time;
      return {};
    };
    if (auto done = read("--from", fromText_, exportOptions_.fromNs); !done) return done.error();
    if (auto done = read("--until", untilText_, exportOptions_.untilNs); !done) return done.error();
    if (exportOptions_.fromNs.value_or(0) >= exportOptions_.untilNs.value_or(INT64_MAX)) {
      return usageError("--until " + untilText_ + " is not after " +
                        (fromText_.empty() ? "the start of the run" : "--from " + fromText_));
    }
    if (!stepsText_.empty()) {
      auto steps = parseStepRange("--steps", stepsText_);
      if (!steps) return steps.error();
      exportOptions_.steps = *steps;
    }
    return {};
  }

  /// An export of data, which takes none of the options of a picture.
  Result<Invocation> readDataExport() {
    for (const char* name : {"--size", "--theme", "--view", "--greyscale"}) {
      if (export_->count(name) > 0) {
        return usageError(std::string(name) + " is for pictures, and " + exportOptions_.image +
                          " is none");
      }
    }
    if (!tableText_.empty()) {
      std::vector<std::string_view> tables;
      for (const report::RunTable& each : report::runTables()) tables.emplace_back(each.name);
      if (auto known = checkChoice("--table", tableText_, tables); !known) return known.error();
    }
    return Invocation(DataExportOptions{
        exportOptions_.recording, exportOptions_.image, tableText_.empty() ? "steps" : tableText_,
        exportOptions_.force, exportOptions_.fromNs, exportOptions_.untilNs, exportOptions_.steps});
  }

  Result<Invocation> readExport() {
    if (parseRunTime("--to", exportOptions_.image)) {
      return usageError("--to is \"" + exportOptions_.image +
                        "\"; give a file's name there, and the end of the range as --until");
    }
    if (auto range = readExportRange(); !range) return range.error();
    if (!tableText_.empty() && !isTableFile(exportOptions_.image)) {
      return usageError("--table is for .csv files, and " + exportOptions_.image + " is none");
    }
    if (isDataFile(exportOptions_.image)) return readDataExport();
    auto size = readSize(sizeText_);
    if (!size) return size.error();
    constexpr std::string_view kThemes[] = {"dark", "light"};
    if (auto known = checkChoice("--theme", themeText_, kThemes); !known) return known.error();
    exportOptions_.size = *size;
    exportOptions_.dark = themeText_ == "dark";
    constexpr std::string_view kViews[] = {"timeline", "tuning"};
    if (auto known = checkChoice("--view", viewText_, kViews); !known) return known.error();
    exportOptions_.tuning = viewText_ == "tuning";
    return Invocation(exportOptions_);
  }

  void addDoctor() {
    doctor_ = app_.add_subcommand("doctor", "Show what works on this machine, and what does not");
    addSomeRunOptions(*doctor_, doctorTexts_, {"--device"});
    doctor_
        ->add_option("--json", doctorJson_,
                     "Write one JSON object, to FILE or in place of the text")
        ->type_name("[FILE]")
        ->expected(0, 1);
    addWorkloadQuestion();
    doctor_
        ->add_option("--selftest", selfTest_, "Check the probe's assumptions: all, or those named")
        ->type_name("[CHECK,...]")
        ->expected(0, 1)
        ->excludes("--workload");
    doctor_
        ->add_option("--python", doctorPython_, "Say what works with this Python; build its part")
        ->type_name("PATH")
        ->excludes("--workload")
        ->excludes("--selftest");
    doctor_
        ->add_option("--report", doctorReport_, "Try all of it; write what it said to FILE.tar.gz")
        ->type_name("[FILE]")
        ->expected(0, 1)
        ->excludes("--workload")
        ->excludes("--selftest")
        ->excludes("--json");
    doctorTexts_.sim.addTo(*doctor_);
    doctor_->footer(
        "Exit codes: 0 done (even if ops fall back), 1 an op would fail, a check failed, a problem "
        "was found or no answer came, 2 wrong usage.");
  }

  void addWorkloadQuestion() {
    doctor_->add_flag("--workload", asksWorkload_,
                      "List the ops of a step that fall back or fail on mps");
    const OptionNames names = {"--scenario", "--preset", "--data", "--batch",
                               "--seq",      "--dtype",  "--seed"};
    addSomeRunOptions(*doctor_, doctorTexts_, names, "With --workload");
    for (const std::string_view name : names) {
      doctor_->get_option(std::string(name))->needs("--workload");
    }
    doctor_->get_option("--scenario")->description("A training program: " + scenarioNames());
  }

  /// The value of an option that may have none, for which CLI11 then reports "true".
  static std::string valueOf(const std::string& text) { return text == "true" ? "" : text; }

  Result<DoctorOptions> readDoctor(const session::LaunchOptions& launch) const {
    DoctorOptions options;
    options.launch = launch;
    if (asksWorkload_) options.question = DoctorOptions::Question::kWorkload;
    if (doctor_->count("--selftest") > 0) {
      options.question = DoctorOptions::Question::kSelfTest;
      const std::string checks = valueOf(selfTest_);
      options.checks = QString::fromStdString(checks).split(u',', Qt::SkipEmptyParts);
      if (options.checks.isEmpty() && !checks.empty()) {
        return refusedValue("--selftest", checks, "names of checks, or nothing for all of them");
      }
    }
    if (doctor_->count("--python") > 0) {
      options.question = DoctorOptions::Question::kPython;
      options.interpreter = QString::fromStdString(doctorPython_);
    }
    if (doctor_->count("--report") > 0) {
      options.question = DoctorOptions::Question::kReport;
      options.archive = valueOf(doctorReport_);
    }
    if (doctor_->count("--json") > 0) {
      options.json = valueOf(doctorJson_).empty() ? "-" : doctorJson_;
    }
    const bool asksDevice = options.question == DoctorOptions::Question::kWorkload ||
                            options.question == DoctorOptions::Question::kSelfTest;
    if (asksDevice && launch.device == "cpu") {
      return usageError("--workload and --selftest are about mps; give --device mps, sim or auto");
    }
    return options;
  }

  Result<Invocation> readInvocation() {
    const RunTexts& texts = record_->parsed()   ? recordTexts_
                            : doctor_->parsed() ? doctorTexts_
                            : sweep_->parsed()  ? sweepRunTexts_
                                                : runTexts_;
    if (benchmark_->parsed()) {
      if (auto read = readBenchmarkOptions(benchmarkTexts_, benchmarkOptions_); !read) {
        return read.error();
      }
      return Invocation(benchmarkOptions_);
    }
    auto launch = readRunOptions(texts);
    if (!launch) return launch.error();
    if (record_->parsed()) {
      recordOptions_.launch = *launch;
      for (const std::string& text : acceptedTexts_) {
        auto acceptance = run::parseAcceptance(text);
        if (!acceptance) return acceptance.error();
        recordOptions_.launch.acceptedOps << QString::fromStdString(acceptance->op);
        recordOptions_.accepted.push_back(std::move(*acceptance));
      }
      if (auto read = readTry(recordOptions_.tried, /*takesLines=*/false); !read) {
        return read.error();
      }
      return Invocation(recordOptions_);
    }
    if (run_->parsed()) return readRun();
    if (sweep_->parsed()) {
      sweepOptions_.launch = *launch;
      if (!scriptCommand_.empty()) {
        sweepOptions_.script.emplace().command = programWords();
        if (auto fits = checkSweepOfProgram(sweepRunTexts_.options); !fits) return fits.error();
      }
      if (auto read = readSweepOptions(sweepTexts_, sweepOptions_); !read) return read.error();
      return Invocation(sweepOptions_);
    }
    if (report_->parsed()) return readReport();
    if (compare_->parsed()) return readCompare();
    if (accept_->parsed()) {
      if (!withdraws_ && acceptedReason_.empty()) {
        return usageError(
            "accept needs --reason TEXT, which is kept in the recording, or --withdraw");
      }
      auto acceptance = withdraws_ ? run::makeWithdrawal(acceptedOp_)
                                   : run::makeAcceptance(acceptedOp_, acceptedReason_);
      if (!acceptance) return acceptance.error();
      acceptOptions_.acceptance = std::move(*acceptance);
      return Invocation(acceptOptions_);
    }
    if (export_->parsed()) return readExport();
    if (doctor_->parsed()) {
      auto options = readDoctor(*launch);
      if (!options) return options.error();
      return Invocation(*options);
    }
    if (window_.startAtOnce && !window_.recording.empty()) {
      return usageError("--run starts training, but " + window_.recording +
                        " is a recording to open; give only one of them");
    }
    window_.launch = *launch;
    return Invocation(window_);
  }

  CLI::App app_{"Profiler and memory monitor for PyTorch training on MPS"};
  CLI::App* record_ = nullptr;
  CLI::App* report_ = nullptr;
  CLI::App* compare_ = nullptr;
  CLI::App* accept_ = nullptr;
  CLI::App* export_ = nullptr;
  CLI::App* doctor_ = nullptr;
  CLI::App* sweep_ = nullptr;
  CLI::App* benchmark_ = nullptr;
  CompareOptions compareOptions_;
  bool comparesAsJson_ = false, comparesAsMarkdown_ = false;
  std::vector<std::string> limitTexts_;
  RunTexts runTexts_, recordTexts_, doctorTexts_, sweepRunTexts_;
  BenchmarkCommandTexts benchmarkTexts_;
  BenchmarkCommandOptions benchmarkOptions_;
  OptionTexts sweepTexts_;
  SweepCommandOptions sweepOptions_;
  WindowOptions window_;
  RecordOptions recordOptions_;
  CLI::App* run_ = nullptr;
  ScriptCommandOptions script_;
  std::string remoteHost_;
  std::string scriptDevice_ = "auto", scriptLevel_ = "monitor";
  std::vector<std::string> scriptCommand_;
  SimOptions scriptSim_;
  ReportOptions reportOptions_;
  ReportPageOptions page_;
  AcceptOptions acceptOptions_;
  std::string doctorJson_, doctorPython_, doctorReport_, selfTest_;
  bool asksWorkload_ = false;
  std::string acceptedOp_, acceptedReason_;
  bool withdraws_ = false;
  std::vector<std::string> acceptedTexts_, tryTexts_;
  ExportOptions exportOptions_;
  std::string sizeText_ = "1600x1000";
  std::string themeText_ = "dark";
  std::string viewText_ = "timeline";
  std::string tableText_;
  std::string fromText_, untilText_, stepsText_;
};

}  // namespace

std::string noSuchFileText(const std::string& word) {
  return CommandLine().noSuchFileText(word);
}

std::variant<Invocation, EarlyExit> parseCommandLine(int argc, const char* const* argv) {
  return CommandLine().parse(argc, argv);
}

}  // namespace highwater::cli
