#pragma once

/// For #if: true if the libtorch that this file is compiled against has at least version
/// MAJOR.MINOR. The file that uses it must include <torch/version.h>, since core includes nothing
/// of libtorch.
#define HIGHWATER_TORCH_AT_LEAST(MAJOR, MINOR) \
  (TORCH_VERSION_MAJOR > (MAJOR) ||            \
   (TORCH_VERSION_MAJOR == (MAJOR) && TORCH_VERSION_MINOR >= (MINOR)))
