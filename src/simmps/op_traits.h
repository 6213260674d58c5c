#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace highwater::simmps {

/// What the boxed kernel needs to know about an op, read from its schema once a thread.
struct OpTraits {
  bool writesArguments = false;  ///< in place, out=, or running statistics
  bool hasOut = false;           ///< out= arguments
  bool returnsView = false;      ///< needs a kernel of its own
  bool onlyReturnsArguments = false;
  bool onlyReturnsTensors = false;
  bool sizedByValues = false;      ///< nonzero and the like: only the run tells the size
  bool needsDrainedQueue = false;  ///< results that the host needs: sizes or values
  bool takesHostTensors = false;   ///< CPU tensors are allowed beside device tensors
  bool lacksMpsKernel = false;
  int deviceArgument = -1;
  int generatorArgument = -1;
  mutable bool hasMetaKernel = false;  ///< cleared where the Meta kernel turns out not to work
};

const OpTraits& traitsOf(const c10::OperatorHandle& op);

}  // namespace highwater::simmps
