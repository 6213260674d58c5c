#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "simmps/output_shapes.h"

namespace highwater::simmps {

/// Python brings Meta kernels of its own for many ops, which take the place of the compiled ones.
enum class MetaKernel { None, Compiled, Interpreted };

/// What the boxed kernel needs to know about an op, read from its schema once a thread.
struct OpTraits {
  bool hasOut = false;                   ///< out= arguments
  bool returnsView = false;              ///< of its first tensor's memory
  bool hasFreshResults = false;          ///< returns tensors that are no arguments
  bool returnsOtherThanTensors = false;  ///< lists, numbers, booleans: the host waits for them
  bool sizedByValues = false;            ///< nonzero and the like: only the run tells the size
  bool indexesByMasks = false;           ///< sized by values where an index is a boolean mask
  bool givesBooleans = false;            ///< comparisons: the results' type is not the inputs'
  bool lacksMpsKernel = false;
  bool isPointwise = false;  ///< sizes are the broadcast of the tensor arguments' sizes
  MetaKernel metaKernel = MetaKernel::None;
  ShapeFunction shapes = nullptr;
  int deviceArgument = -1;
  int generatorArgument = -1;
  int hostArgument = -1;  ///< may be CPU tensors; others are on the device, numbers aside
};

/// The traits of an op, kept for the life of the thread.
const OpTraits& traitsOf(const c10::OperatorHandle& op);

}  // namespace highwater::simmps
