#include "probe/stream/tick_source.h"

namespace highwater::probe {

bool ticksAreSteady() {
  return true;
}

}  // namespace highwater::probe
