#pragma once

#include "probe/observer/autograd_place.h"

namespace highwater::probe {

/// Returns access to autograd of the libtorch that is linked.
[[nodiscard]] Autograd torchAutograd();

}  // namespace highwater::probe
