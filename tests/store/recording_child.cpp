// recording_child FILE: writes a recording until it is killed. For each frame that the writer
// has taken it prints its number. For tests of kills.
#include <cstdio>
#include <thread>

#include "store/recording_writer.h"
#include "support/sample_run.h"
#include "wire/codec.h"

using namespace highwater;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto writer = store::RecordingWriter::create(argv[1]);
  if (!writer) {
    std::fprintf(stderr, "%s\n", writer.error().message.c_str());
    return 1;
  }
  test::SampleRunOptions options;
  options.steps = 20'000;
  options.batchEveryNs = 20'000'000;
  long long frame = 0;
  test::forEachMessage(test::makeSampleRun(options), [&](const Message& message) {
    (*writer)->take(wire::encode(message), message);
    std::printf("%lld\n", ++frame);
    std::fflush(stdout);
    // Paces the run, so that it is not over before the kill.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  return 0;
}
