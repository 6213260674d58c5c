#include "session/run_end.h"

#include "core/exit_codes.h"
#include "core/plain_text.h"
#include "session/session.h"
#include "session/shell_words.h"

namespace highwater::session {
namespace {

using Reason = RunEnd::Reason;

/// "text in step 31, …", or the text alone before the first step.
std::string withPosition(const std::string& text, const RunFacts& facts) {
  const std::string where = facts.position.text();
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

/// A script says goodbye whenever its interpreter ends: how the process ended tells whether it got
/// to its own end.
void endScript(const RunFacts& facts, RunEnd& end) {
  end.reason = facts.exit->signal != 0 ? Reason::kCrashed : Reason::kExited;
  end.exitCode = facts.exit->exitCode;
  end.message = facts.program.toStdString() + ' ' + howItEnded(*facts.exit) + " after " +
                counted(facts.goodbye->stepsDone);
}

void endWithGoodbye(const RunFacts& facts, RunEnd& end) {
  const bool failed = facts.exit && (facts.exit->signal != 0 || facts.exit->exitCode != 0);
  if (facts.isScript && failed && !facts.goodbye->stoppedOnRequest) return endScript(facts, end);
  end.reason = facts.goodbye->stoppedOnRequest ? Reason::kStopped : Reason::kFinished;
  const std::string steps = counted(facts.goodbye->stepsDone);
  if (!facts.goodbye->stoppedOnRequest) {
    end.message = steps + " done";
  } else if (facts.isScript && !facts.stopRequested) {
    // The signal is no sign of a program that had to be killed.
    end.message = "interrupted, as by Ctrl+C, after " + steps;
    if (facts.exit) end.exitCode = facts.exit->exitCode;
    end.signal = 0;
    return;
  } else {
    end.message = "stopped on request after " + steps;
  }
  // A script is stopped by an interrupt.
  const bool asAsked = facts.isScript && facts.goodbye->stoppedOnRequest;
  if (asAsked) end.signal = 0;
  if (!asAsked && failed) {
    end.message += "; then " + facts.program.toStdString() + ' ' + howItEnded(*facts.exit);
  }
}

void endBeforeHello(const RunFacts& facts, RunEnd& end) {
  const std::string program = facts.program.toStdString();
  end.reason = Reason::kFailed;
  end.exitCode = kExitFailed;
  const QString lastLine = facts.lastLines.isEmpty() ? QString() : facts.lastLines.last();
  // highwater-worker begins its lines with its name, and what shows this message adds its own.
  const QString prefix = facts.program + QStringLiteral(": ");
  const bool saidWhy = lastLine.startsWith(prefix);
  const bool isUsage = facts.exit->exitCode == kExitUsage && !lastLine.isEmpty();
  const bool failed = facts.exit->exitCode == kExitFailed && saidWhy;
  if (facts.exit->signal == 0 && (isUsage || failed)) {
    end.exitCode = facts.exit->exitCode;
    end.message = (saidWhy ? lastLine.mid(prefix.size()) : lastLine).toStdString();
    return;
  }
  end.message = program + ' ' + howItEnded(*facts.exit) + " before it said hello";
  if (!lastLine.isEmpty()) end.message += "; its last line: " + lastLine.toStdString();
}

/// The process that trained has ended its connection and run on.
void endAfterDisconnect(const RunFacts& facts, const std::string& what, RunEnd& end) {
  end.reason = Reason::kExited;
  if (facts.exit) end.exitCode = facts.exit->exitCode;
  end.message = withPosition(facts.program.toStdString() + ' ' + what, facts) +
                "; what it did after that is not recorded";
}

/// Nothing of the user's program has connected.
void endUnwatched(const RunFacts& facts, RunEnd& end) {
  const std::string program = facts.program.toStdString() + ' ' + howItEnded(*facts.exit);
  end.exitCode = facts.exit->exitCode;
  if (facts.stopRequested) {
    end.reason = Reason::kStopped;
    end.message = program + " before the training began";
  } else if (facts.exit->signal != 0 || facts.exit->exitCode != 0) {
    end.reason = facts.exit->signal != 0 ? Reason::kCrashed : Reason::kExited;
    end.message = program + " before it trained";
    if (!facts.whyNothingTrained.isEmpty()) {
      end.message += ": " + facts.whyNothingTrained.toStdString();
    }
  } else {
    end.reason = Reason::kFinished;
    end.message = program + ", and nothing was recorded: " + facts.whyNothingTrained.toStdString();
  }
}

void endWithoutGoodbye(const RunFacts& facts, RunEnd& end) {
  const std::string program = facts.program.toStdString();
  if (!facts.exit) {
    end.reason = Reason::kExited;
    end.message = withPosition(program + " closed the connection without saying why", facts);
  } else if (facts.isScript && !facts.greeted) {
    endUnwatched(facts, end);
  } else if (facts.stopRequested && !facts.greeted) {
    end.reason = Reason::kStopped;
    end.message = "stopped on request before the training began";
  } else if (facts.notStoppedFor) {
    end.reason = Reason::kStopped;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*facts.notStoppedFor);
    end.message = withPosition("Highwater ended " + program + ", which did not stop within " +
                                   std::to_string(seconds.count()) + " s",
                               facts);
  } else if (facts.stopRequested) {
    end.reason = Reason::kStopped;
    end.message =
        withPosition(program + " was asked to stop and " + howItEnded(*facts.exit), facts);
  } else if (!facts.greeted && facts.exit->signal == 0) {
    endBeforeHello(facts, end);
  } else if (facts.trainerRanOn == true) {
    endAfterDisconnect(facts, "closed its connection to Highwater", end);
  } else if (facts.trainerRanOn == false) {
    // Below a launcher, which went on.
    end.reason = Reason::kCrashed;
    end.message = withPosition("the process that trained ended without saying why", facts);
  } else if (facts.exit->signal != 0) {
    end.reason = Reason::kCrashed;
    end.message = withPosition(program + ' ' + howItEnded(*facts.exit), facts);
  } else {
    end.reason = Reason::kExited;
    end.exitCode = facts.exit->exitCode;
    const bool scriptFailed = facts.isScript && facts.exit->exitCode != 0;
    end.message = withPosition(
        program + ' ' + howItEnded(*facts.exit) + (scriptFailed ? "" : " without saying why"),
        facts);
  }
}

}  // namespace

RunEnd runEndFrom(const RunFacts& facts) {
  if (facts.toldEnd && !facts.notStarted) return *facts.toldEnd;
  RunEnd end;
  const std::string program = facts.program.toStdString();
  if (facts.exit) end.signal = facts.exit->signal;
  if (facts.notStarted) {
    end.reason = Reason::kFailed;
    end.exitCode = facts.notStarted->code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
    end.message = facts.notStarted->message;
  } else if (facts.violation) {
    end.reason = Reason::kProtocolViolation;
    const std::string how = " (" + facts.violation->toStdString() + ')';
    end.message = withPosition(
        facts.isScript ? "Highwater's probe in " + program + " sent an impossible event" + how +
                             ", so nothing more was recorded: please report this fault of Highwater"
                       : program + " broke the protocol" + how,
        facts);
  } else if (!facts.lostHost.isEmpty()) {
    end.reason = Reason::kAborted;  // of what is seen here: nobody knows how the program ends
    end.signal = 0;
    end.message = withPosition("the connection to " + facts.lostHost.toStdString() +
                                   (facts.aborted ? " was ended here" : " ended"),
                               facts) +
                  "; the program may go on there, and what it trains is recorded there: scp " +
                  quoteShellWord(facts.recordedThere + u'*').toStdString() + " .";
  } else if (!facts.disconnectReason.empty()) {
    endAfterDisconnect(facts, facts.disconnectReason, end);
  } else if (facts.goodbye) {
    endWithGoodbye(facts, end);
  } else if (facts.failure) {
    end.reason = Reason::kFailed;
    end.exitCode = exitCodeOf(facts.failure->kind);
    end.message = highwater::plainText(facts.failure->message);
  } else if (facts.refusedKnobs) {
    end.reason = Reason::kFailed;
    end.exitCode = kExitUsage;
    end.message = facts.refusedKnobs->toStdString();
  } else if (facts.silentFor) {
    end.reason = Reason::kHung;
    end.message = withPosition(program + " stopped responding", facts) + "; nothing came for " +
                  secondsText(*facts.silentFor) + ", run ended";
  } else if (facts.aborted) {
    end.reason = Reason::kAborted;
    end.message = facts.isScript ? withPosition("the window was closed, the program ran on", facts)
                                 : withPosition("ended by highwater", facts);
  } else {
    endWithoutGoodbye(facts, end);
  }
  if (!facts.goodbye || (facts.isScript && !endedAsPlanned(end))) {
    end.openOp = facts.position.openOp();
    end.lastLines = facts.lastLines.join(u'\n').toStdString();
  }
  return end;
}

bool endedAsPlanned(const RunEnd& end) {
  return end.reason == Reason::kFinished || end.reason == Reason::kStopped;
}

int exitCodeFor(const RunEnd& end) {
  switch (end.reason) {
    case Reason::kFinished:
      return kExitDone;
    case Reason::kFailed:
      return end.exitCode == kExitUsage || end.exitCode == kExitEndedEarly ? end.exitCode
                                                                           : kExitFailed;
    case Reason::kProtocolViolation:
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
