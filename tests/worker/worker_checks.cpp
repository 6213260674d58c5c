// The worker's parts that include libtorch, in one program, as its headers take 15 s to compile.
// usage: worker_checks NAME
#include <cstdio>
#include <string_view>

#include "check.h"

using namespace highwater::worker;

int main(int count, char** arguments) {
  constexpr struct {
    std::string_view name;
    void (*run)();
  } kChecks[] = {{"atomic_adamw_check", test::checkAtomicAdamw},
                 {"dry_check_ops", test::checkDryCheck},
                 {"training_check", test::checkTraining}};
  const std::string_view wanted = count == 2 ? arguments[1] : "";
  for (const auto& [name, run] : kChecks) {
    if (name != wanted) continue;
    run();
    return test::failures();
  }
  std::fputs("usage: worker_checks NAME; the names:", stderr);
  for (const auto& check : kChecks) std::fprintf(stderr, " %s", check.name.data());
  std::fputc('\n', stderr);
  return 2;
}
