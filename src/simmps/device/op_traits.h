#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "simmps/device/shapes/output_shapes.h"

namespace highwater::simmps {

/// Which Meta kernel (it computes the results' shapes without data) an op has. Python replaces many
/// of the compiled ones by interpreted ones, which are about a hundred times as slow as a job's
/// submission.
enum class MetaKernel { None, Compiled, Interpreted };

/// Properties of an op that runOnDevice() needs, read from the op's schema and from tables.
struct OpTraits {
  bool hasOut = false;                   ///< has out= arguments
  bool returnsView = false;              ///< returns a view of its first argument
  bool hasFreshResults = false;          ///< returns new tensors
  bool returnsOtherThanTensors = false;  ///< returns lists, numbers or booleans, so the host waits
  bool sizedByValues = false;   ///< nonzero and the like: the result's size depends on values
  bool indexesByMasks = false;  ///< sized by values if an index is a boolean mask
  bool givesBooleans = false;   ///< comparisons: results are boolean, whatever the inputs
  bool lacksMpsKernel = false;
  bool isPointwise = false;  ///< results have the broadcast sizes of the tensor arguments
  MetaKernel metaKernel = MetaKernel::None;
  ShapeFunction shapes = nullptr;
  int deviceArgument = -1;
  int generatorArgument = -1;
  int hostArgument = -1;  ///< index of an argument that may be on the host; -1: none
};

/// Returns the properties of an op; reads them at the thread's first call for it.
const OpTraits& traitsOf(const c10::OperatorHandle& op);

}  // namespace highwater::simmps
