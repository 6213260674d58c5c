#include "app/options.h"

#include <CLI/CLI.hpp>
#include <sstream>

#include "app/accept_command.h"
#include "app/given_options.h"
#include "app/run_options.h"
#include "app/version.h"
#include "core/exit_codes.h"
#include "core/option_values.h"
#include "core/run_limits.h"
#include "core/scenarios.h"

namespace highwater::app {
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

/// The whole command line: CLI11 fills `texts` and the plain members, read() checks and converts.
class CommandLine {
 public:
  CommandLine() {
    app_.name("highwater");
    app_.set_version_flag("--version", std::string("highwater ") + kVersion);
    app_.add_option("FILE", window_.recording, "A recording to open in the window")->type_name("");
    addRunOptions(app_, runTexts_);
    app_.add_flag("--run", window_.startAtOnce, "Start training as soon as the window is open");
    app_.footer(
        "Without a command the window opens, empty or on FILE. Exit codes: 0 done, 1 failed,\n"
        "2 wrong usage, 3 the run ended early. 'highwater COMMAND --help' tells more.");
    app_.require_subcommand(0, 1);
    addRecord();
    addReport();
    addAccept();
    addExport();
    addDoctor();
    refuseValuesOfFlags(app_);
  }

  std::variant<Invocation, EarlyExit> parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::Success& asked) {
      std::ostringstream text;
      app_.exit(asked, text, text);
      return EarlyExit{kExitDone, text.str()};
    } catch (const CLI::ParseError& wrong) {
      return EarlyExit{kExitUsage, problemText(app_, wrong)};
    }
    if (auto given = checkGiven(app_); !given) return EarlyExit{kExitUsage, given.error().message};
    auto read = readInvocation();
    if (!read) return EarlyExit{kExitUsage, read.error().message};
    return std::move(*read);
  }

 private:
  void addRecord() {
    record_ = app_.add_subcommand("record", "Train and record, without a window");
    addRunOptions(*record_, recordTexts_);
    recordTexts_.steps = std::to_string(kDefaultSteps);
    record_
        ->add_option("--steps", recordTexts_.steps,
                     "Steps to train, 1 to " + std::to_string(kMostRunSteps) +
                         "; a scenario has a number of its own")
        ->type_name("N")
        ->capture_default_str();
    record_
        ->add_option("--set", recordTexts_.set,
                     "Change a knob (batch, seq, loss-every) at a step; may be repeated")
        ->type_name("STEP:KNOB=VALUE")
        ->type_size(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    record_->add_option("-o,--output", recordOptions_.output, "The recording to write")
        ->type_name("FILE")
        ->required();
    record_->add_flag("--force", recordOptions_.force, "Overwrite an existing recording");
    record_
        ->add_option("--accept-fallback", acceptedTexts_,
                     "A fallback that is fine, with the reason to keep; may be repeated")
        ->type_name("OP=REASON")
        ->type_size(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    record_->add_flag("--end-stalled", recordOptions_.endStalled,
                      "End the run, and keep its recording, where the training has stood in one op "
                      "for $HIGHWATER_HANG_TIMEOUT_MS (10000)");
  }

  void addAccept() {
    accept_ = app_.add_subcommand("accept",
                                  "Keep in a recording that a fallback is fine, or take "
                                  "that back");
    accept_->add_option("FILE", acceptOptions_.recording, "The recording")
        ->type_name("")
        ->required();
    accept_->add_option("--fallback", acceptedOp_, "The op, as the report names it")
        ->type_name("OP")
        ->required();
    auto* reason = accept_->add_option("--reason", acceptedReason_, "Why the CPU is fine for it")
                       ->type_name("TEXT");
    accept_->add_flag("--withdraw", withdraws_, "It is not fine after all: a finding again")
        ->excludes(reason);
  }

  void addReport() {
    report_ = app_.add_subcommand("report", "Summarise a recording");
    report_->add_option("FILE", reportOptions_.recording, "The recording")
        ->type_name("")
        ->required();
    report_->add_flag("--json", reportOptions_.json, "One JSON object, for programs");
  }

  void addExport() {
    export_ = app_.add_subcommand("export", "Draw the window's picture of a recording");
    export_->add_option("FILE", exportOptions_.recording, "The recording")
        ->type_name("")
        ->required();
    export_->add_option("--to", exportOptions_.image, "The picture to write, for example out.png")
        ->type_name("FILE")
        ->required();
    export_->add_option("--size", sizeText_, "Size in pixels")
        ->type_name("WIDTHxHEIGHT")
        ->capture_default_str();
    export_->add_option("--theme", themeText_, "dark or light")
        ->type_name("NAME")
        ->capture_default_str();
  }

  void addDoctor() {
    doctor_ = app_.add_subcommand("doctor", "Say what this machine offers, and what was chosen");
    doctor_->add_option("--device", doctorTexts_.device, "auto, mps, sim or cpu")
        ->type_name("NAME")
        ->capture_default_str();
    doctor_
        ->add_option(
            "--json", doctorJson_,
            "One JSON object, for programs; to FILE, else (or for -) to the standard output")
        ->type_name("[FILE]")
        ->expected(0, 1);
    addWorkloadQuestion();
    doctor_
        ->add_option(
            "--selftest", selfTest_,
            "Test on the device, in two minutes at most, what the probe takes for granted; "
            "all of it, or the checks named, with commas between them")
        ->type_name("[CHECK,...]")
        ->expected(0, 1)
        ->excludes("--workload");
    doctorTexts_.sim.addTo(*doctor_);
    doctor_->footer(
        "--workload runs two steps on the CPU and asks the device which of their ops it has. Exit\n"
        "codes: 0 done (ops that fall back are no failure), 1 an op would fail, a check of\n"
        "--selftest failed or nothing can be asked, 2 wrong usage.");
  }

  void addWorkloadQuestion() {
    doctor_
        ->add_option("--workload", doctorWorkload_,
                     "Say which ops of a training step would fall back or fail on mps")
        ->type_name("[NAME]")
        ->expected(0, 1);
    const auto add = [this](const char* name, std::string& text, const std::string& help,
                            const char* type) {
      doctor_->add_option(name, text, help)
          ->type_name(type)
          ->needs("--workload")
          ->group("With --workload");
    };
    add("--scenario", doctorTexts_.scenario, "A training program: " + scenarioNames(), "NAME");
    add("--preset", doctorTexts_.preset, "Size of the model: small or base", "NAME");
    add("--data", doctorTexts_.data, "CSV file with the columns text and label", "FILE");
    add("--batch", doctorTexts_.batch, batchHelp(), "N");
    add("--seq", doctorTexts_.seq, lengthHelp(), "N");
    add("--dtype", doctorTexts_.dtype, "Type of the weights, for example float32", "TYPE");
    add("--seed", doctorTexts_.seed, "Seed of the random numbers", "N");
  }

  /// Of an option that needs none; CLI11 reads "true" where it has none.
  static std::string valueOf(const std::string& text) { return text == "true" ? "" : text; }

  Result<DoctorOptions> readDoctor(const session::LaunchOptions& launch) const {
    DoctorOptions options;
    options.launch = launch;
    const auto workload = valueOf(doctorWorkload_);
    if (!workload.empty()) options.launch.workload = QString::fromStdString(workload);
    if (doctor_->count("--workload") > 0) options.question = DoctorOptions::Question::kWorkload;
    if (doctor_->count("--selftest") > 0) {
      options.question = DoctorOptions::Question::kSelfTest;
      const std::string checks = valueOf(selfTest_);
      options.checks = QString::fromStdString(checks).split(u',', Qt::SkipEmptyParts);
      if (options.checks.isEmpty() && !checks.empty()) {
        return refusedValue("--selftest", checks, "names of checks, or nothing for all of them");
      }
    }
    if (doctor_->count("--json") > 0) {
      options.json = valueOf(doctorJson_).empty() ? "-" : doctorJson_;
    }
    const bool asksDevice = options.question != DoctorOptions::Question::kMachine;
    if (asksDevice && launch.device == QLatin1String("cpu")) {
      return usageError(
          "--device cpu has no mps to ask; give mps, sim or auto with --workload and --selftest");
    }
    return options;
  }

  Result<Invocation> readInvocation() {
    const RunTexts& texts = record_->parsed()   ? recordTexts_
                            : doctor_->parsed() ? doctorTexts_
                                                : runTexts_;
    useStepsOfScenario();
    auto launch = readRunOptions(texts);
    if (!launch) return launch.error();
    if (record_->parsed()) {
      recordOptions_.launch = *launch;
      for (const std::string& text : acceptedTexts_) {
        auto acceptance = parseAcceptance(text);
        if (!acceptance) return acceptance.error();
        recordOptions_.launch.acceptedOps << QString::fromStdString(acceptance->op);
        recordOptions_.accepted.push_back(std::move(*acceptance));
      }
      return Invocation(recordOptions_);
    }
    if (report_->parsed()) return Invocation(reportOptions_);
    if (accept_->parsed()) {
      if (!withdraws_ && acceptedReason_.empty()) {
        return usageError("accept needs --reason TEXT, which the recording keeps, or --withdraw");
      }
      auto acceptance =
          withdraws_ ? parseWithdrawal(acceptedOp_) : acceptanceOf(acceptedOp_, acceptedReason_);
      if (!acceptance) return acceptance.error();
      acceptOptions_.acceptance = std::move(*acceptance);
      return Invocation(acceptOptions_);
    }
    if (export_->parsed()) {
      auto size = readSize(sizeText_);
      if (!size) return size.error();
      constexpr std::string_view kThemes[] = {"dark", "light"};
      if (auto known = checkChoice("--theme", themeText_, kThemes); !known) return known.error();
      exportOptions_.size = *size;
      exportOptions_.dark = themeText_ == "dark";
      return Invocation(exportOptions_);
    }
    if (doctor_->parsed()) {
      auto options = readDoctor(*launch);
      if (!options) return options.error();
      return Invocation(*options);
    }
    if (window_.startAtOnce && !window_.recording.empty()) {
      return usageError("--run starts a training, and " + window_.recording +
                        " is a recording to look at; give one of them");
    }
    window_.launch = *launch;
    return Invocation(window_);
  }

  /// `record` shows how far it is, and so must know. The worker takes all else from the scenario.
  void useStepsOfScenario() {
    const auto scenario = findScenario(recordTexts_.scenario);
    if (!scenario || record_->count("--steps") > 0) return;
    recordTexts_.steps = std::to_string((*scenario)->steps);
  }

  CLI::App app_{"Profiler and memory monitor for PyTorch training on MPS"};
  CLI::App* record_ = nullptr;
  CLI::App* report_ = nullptr;
  CLI::App* accept_ = nullptr;
  CLI::App* export_ = nullptr;
  CLI::App* doctor_ = nullptr;
  RunTexts runTexts_, recordTexts_, doctorTexts_;
  WindowOptions window_;
  RecordOptions recordOptions_;
  ReportOptions reportOptions_;
  AcceptOptions acceptOptions_;
  std::string doctorJson_, doctorWorkload_, selfTest_;
  std::string acceptedOp_, acceptedReason_;
  bool withdraws_ = false;
  std::vector<std::string> acceptedTexts_;
  ExportOptions exportOptions_;
  std::string sizeText_ = "1600x1000";
  std::string themeText_ = "dark";
};

Result<void> readKnob(const std::string& whole, const std::string& part, SetKnobs& knobs) {
  const auto equals = part.find('=');
  const std::string name = part.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
  const auto read = [&](std::uint32_t most, std::optional<std::uint32_t>& target) -> Result<void> {
    auto number = parseWhole<std::uint32_t>(name + " of --set " + whole, value, 1u, most);
    if (!number) return number.error();
    if (target) return usageError("--set " + whole + " changes " + name + " twice");
    target = *number;
    return {};
  };
  if (name == "batch") return read(kMostBatchSize, knobs.batchSize);
  if (name == "seq") return read(kPositionTableLength, knobs.sequenceLength);
  if (name == "loss-every") return read(kMostLossInterval, knobs.lossEvery);
  return usageError("--set " + whole + " names \"" + name +
                    "\"; a run has the knobs batch, seq and loss-every");
}

}  // namespace

Result<SetKnobs> parseScheduledKnobs(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos || text.find('=') == std::string::npos) {
    return refusedValue("--set", text, "STEP:KNOB=VALUE, for example 20:batch=32");
  }
  SetKnobs knobs;
  auto step = parseWhole<std::uint32_t>("the step of --set " + text, text.substr(0, colon), 1u,
                                        kMostRunSteps);
  if (!step) return step.error();
  knobs.atStep = *step;
  std::istringstream parts(text.substr(colon + 1));
  if (text.ends_with(',')) return refusedValue("--set", text, "a KNOB=VALUE after the last comma");
  for (std::string part; std::getline(parts, part, ',');) {
    if (auto done = readKnob(text, part, knobs); !done) return done.error();
  }
  return knobs;
}

std::variant<Invocation, EarlyExit> parseCommandLine(int argc, const char* const* argv) {
  return CommandLine().parse(argc, argv);
}

}  // namespace highwater::app
