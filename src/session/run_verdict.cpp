#include "session/run_verdict.h"

#include "core/exit_codes.h"
#include "core/names.h"
#include "session/session.h"

namespace highwater::session {
namespace {

using Reason = RunEnd::Reason;

/// "text in step 31, …", or the text alone before the first step.
std::string placed(const std::string& text, const RunFacts& facts) {
  const std::string where = facts.lastSeen.where();
  return where.empty() ? text : text + ' ' + where;
}

std::string howItEnded(const ProcessExit& exit) {
  if (exit.signal != 0) return "was killed by " + signalText(exit.signal).toStdString();
  return "ended with exit code " + std::to_string(exit.exitCode);
}

std::string secondsText(std::chrono::milliseconds time) {
  if (time.count() % 1000 == 0) return std::to_string(time.count() / 1000) + " s";
  return std::to_string(time.count()) + " ms";
}

std::string counted(std::uint32_t steps) {
  return std::to_string(steps) + (steps == 1 ? " step" : " steps");
}

ExitCode exitCodeOf(Failure::Kind kind) {
  switch (kind) {
    case Failure::Kind::kUsage:
      return kExitUsage;
    case Failure::Kind::kOutOfMemory:
      return kExitEndedEarly;
    case Failure::Kind::kFailed:
    case Failure::Kind::kDeviceContract:
      return kExitFailed;
  }
  return kExitFailed;
}

void endAsSaid(const RunFacts& facts, RunEnd& end) {
  end.reason = facts.goodbye->stoppedOnRequest ? Reason::kStopped : Reason::kFinished;
  end.message = facts.goodbye->stoppedOnRequest
                    ? "stopped on request after " + counted(facts.goodbye->stepsDone)
                    : counted(facts.goodbye->stepsDone) + " done";
  if (facts.exit && (facts.exit->signal != 0 || facts.exit->exitCode != 0)) {
    end.message += "; then " + facts.program.toStdString() + ' ' + howItEnded(*facts.exit);
  }
}

void endBeforeHello(const RunFacts& facts, RunEnd& end) {
  const std::string program = facts.program.toStdString();
  end.reason = Reason::kFailed;
  end.exitCode = kExitFailed;
  const QString said = facts.lastLines.isEmpty() ? QString() : facts.lastLines.last();
  if (facts.exit->signal == 0 && facts.exit->exitCode == kExitUsage && !said.isEmpty()) {
    end.exitCode = kExitUsage;
    // Our own worker signs its lines; whoever shows this one says who is speaking.
    const QString signature = facts.program + QStringLiteral(": ");
    end.message = (said.startsWith(signature) ? said.mid(signature.size()) : said).toStdString();
    return;
  }
  end.message = program + ' ' + howItEnded(*facts.exit) + " before it said hello";
  if (!said.isEmpty()) end.message += "; its last line: " + said.toStdString();
}

void endUnsaid(const RunFacts& facts, RunEnd& end) {
  const std::string program = facts.program.toStdString();
  if (!facts.exit) {
    end.reason = Reason::kExited;
    end.message = placed(program + " closed the connection without saying why", facts);
  } else if (facts.stopRequested && !facts.greeted) {
    end.reason = Reason::kStopped;
    end.message = "stopped on request before the training began";
  } else if (facts.stopRequested) {
    end.reason = Reason::kStopped;
    end.message = placed(program + " was asked to stop and " + howItEnded(*facts.exit), facts);
  } else if (!facts.greeted && facts.exit->signal == 0) {
    endBeforeHello(facts, end);
  } else if (facts.exit->signal != 0) {
    end.reason = Reason::kCrashed;
    end.message = placed(program + ' ' + howItEnded(*facts.exit), facts);
  } else {
    end.reason = Reason::kExited;
    end.exitCode = facts.exit->exitCode;
    end.message = placed(program + ' ' + howItEnded(*facts.exit) + " without saying why", facts);
  }
}

}  // namespace

QString stallText(const LastSeen::Standing& standing) {
  const std::string phase(standing.phase == events::Phase::None ? "" : phaseName(standing.phase));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(standing.age).count();
  std::string text =
      standing.step == 0 ? std::string("the training") : "step " + std::to_string(standing.step);
  text += " has stood in " + (phase.empty() ? standing.op : phase) + " for " +
          std::to_string(seconds) + " s";
  // A phase is a span as well: it is not its own op.
  if (!phase.empty() && standing.op != phase) text += ", in " + standing.op;
  return plainText(QString::fromStdString(text));
}

RunEnd judge(const RunFacts& facts) {
  RunEnd end;
  const std::string program = facts.program.toStdString();
  if (facts.exit) end.signal = facts.exit->signal;
  if (facts.notStarted) {
    end.reason = Reason::kFailed;
    end.exitCode = facts.notStarted->code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
    end.message = facts.notStarted->message;
  } else if (facts.violation) {
    end.reason = Reason::kNonsense;
    end.message =
        placed(program + " broke the protocol (" + facts.violation->toStdString() + ")", facts);
  } else if (facts.goodbye) {
    endAsSaid(facts, end);
  } else if (facts.failure) {
    end.reason = Reason::kFailed;
    end.exitCode = exitCodeOf(facts.failure->kind);
    end.message = plainText(QString::fromStdString(facts.failure->message)).toStdString();
  } else if (facts.refusedKnobs) {
    end.reason = Reason::kFailed;
    end.exitCode = kExitUsage;
    end.message = facts.refusedKnobs->toStdString();
  } else if (facts.silentFor) {
    end.reason = Reason::kHung;
    end.message = placed(
        program + " sent nothing for " + secondsText(*facts.silentFor) + " and was taken to hang",
        facts);
  } else if (facts.aborted) {
    end.reason = Reason::kAborted;
    end.message = placed("ended by highwater", facts);
  } else {
    endUnsaid(facts, end);
  }
  const bool saidGoodbye = end.reason == Reason::kFinished || facts.goodbye.has_value();
  if (!saidGoodbye) {
    end.openOp = facts.lastSeen.openOp();
    end.lastLines = facts.lastLines.join(u'\n').toStdString();
  }
  return end;
}

int exitCodeFor(const RunEnd& end) {
  switch (end.reason) {
    case Reason::kFinished:
      return kExitDone;
    case Reason::kFailed:
      return end.exitCode == kExitUsage || end.exitCode == kExitEndedEarly ? end.exitCode
                                                                           : kExitFailed;
    case Reason::kNonsense:
      return kExitFailed;
    case Reason::kStopped:
    case Reason::kCrashed:
    case Reason::kExited:
    case Reason::kHung:
    case Reason::kAborted:
      return kExitEndedEarly;
  }
  return kExitFailed;
}

}  // namespace highwater::session
