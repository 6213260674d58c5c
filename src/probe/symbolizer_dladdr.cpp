#include <dlfcn.h>

#include "probe/symbolizer.h"

namespace highwater::probe {
namespace {

class DyldSymbolizer : public Symbolizer {
 public:
  std::vector<SourcePlace> placesOf(const void* returnAddress) override {
    Dl_info info{};
    // A return address may be the first of the next function.
    const void* address = static_cast<const char*>(returnAddress) - 1;
    if (!::dladdr(address, &info)) return {};
    return {{functionName(info.dli_sname), info.dli_fname ? info.dli_fname : "", 0}};
  }
};

}  // namespace

std::unique_ptr<Symbolizer> makeSymbolizer() {
  return std::make_unique<DyldSymbolizer>();
}

}  // namespace highwater::probe
