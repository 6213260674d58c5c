#include "probe/call_sites/atos_symbolizer.h"

namespace highwater::probe {

std::unique_ptr<Symbolizer> makeSymbolizer() {
  return std::make_unique<AtosSymbolizer>(findAtos());
}

}  // namespace highwater::probe
