#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "bench/findings.h"

namespace highwater::bench {

/// The main() of a bench whose options are in `app`: parses them, runs, and returns the exit code.
/// An exception ends the program with its message on stderr and code 1.
template <typename F>
int runProgram(CLI::App& app, int argc, char** argv, F&& run) {
  CLI11_PARSE(app, argc, argv);
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}

/// The same for a bench that fills one table: adds --json to the options, calls measure(findings)
/// and publishes what it found.
template <typename F>
int runProgram(CLI::App& app, int argc, char** argv, Findings findings, F&& measure) {
  std::string json;
  app.add_option("--json", json, "File for the figures");
  return runProgram(app, argc, argv, [&] {
    std::forward<F>(measure)(findings);
    return publish(findings, json) ? 0 : 1;
  });
}

}  // namespace highwater::bench
