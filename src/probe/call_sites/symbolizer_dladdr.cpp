#include "probe/call_sites/symbolizer.h"

namespace highwater::probe {
namespace {

class LinkerSymbolizer : public Symbolizer {
 public:
  std::vector<SourcePlace> placesOf(const void* returnAddress) override {
    return placesByLinker(returnAddress);
  }
};

}  // namespace

std::unique_ptr<Symbolizer> makeSymbolizer() {
  return std::make_unique<LinkerSymbolizer>();
}

}  // namespace highwater::probe
