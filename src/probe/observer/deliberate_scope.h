#pragma once

#include <string_view>

#include "probe/readings/named_scope.h"

namespace highwater::probe {

/// Marks work between steps whose waits are intended, such as an evaluation, from construction to
/// destruction: waits in it are recorded as deliberate. Records a NamedSpan. Training thread only.
class DeliberateScope {
 public:
  /// Opens the scope under `name`. `recorder` must outlive it.
  DeliberateScope(Recorder& recorder, std::string_view name)
      : recorder_(recorder), span_(recorder, recorder.names().intern(name).id) {
    recorder_.setDeliberate(true);
  }
  ~DeliberateScope() { recorder_.setDeliberate(false); }
  DeliberateScope(const DeliberateScope&) = delete;
  DeliberateScope& operator=(const DeliberateScope&) = delete;

 private:
  Recorder& recorder_;
  NamedScope span_;
};

}  // namespace highwater::probe
