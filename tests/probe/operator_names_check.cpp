// Registers and deregisters operators under the observer: a new name at a freed name's address must
// not be mistaken for the old one, also while ops are open. A separate process, since torch and Qt
// headers do not mix.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "probe/observer/op_observer.h"

using namespace highwater;
using namespace highwater::probe;

namespace {

constexpr int kOperators = 20;
// Length of the operators' names; no other text has it.
constexpr std::size_t kNameLength = 300, kSlotBytes = 320;

/// Memory for the names only, so that a freed block is reused at once.
class Slots {
 public:
  static bool fits(std::size_t bytes) { return bytes > kNameLength && bytes <= kSlotBytes; }
  [[nodiscard]] bool has(const void* memory) const {
    return std::less_equal<>()(&memory_[0], memory) && std::less<>()(memory, memory_.end());
  }
  void* take() {
    const std::lock_guard lock(mutex_);
    if (freed_) return std::exchange(freed_, *static_cast<void**>(freed_));
    return used_ < kSlots ? &memory_[kSlotBytes * used_++] : nullptr;
  }
  void give(void* memory) {
    const std::lock_guard lock(mutex_);
    *static_cast<void**>(memory) = std::exchange(freed_, memory);
  }

 private:
  static constexpr std::size_t kSlots = 512;

  std::mutex mutex_;
  alignas(16) std::array<char, kSlots * kSlotBytes> memory_{};
  void* freed_ = nullptr;
  std::size_t used_ = 0;
};
constinit Slots slots;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* memory = Slots::fits(bytes) ? slots.take() : nullptr;
  if (!memory) memory = std::malloc(bytes > 0 ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  if (slots.has(memory)) {
    slots.give(memory);
  } else {
    std::free(memory);
  }
}
void operator delete(void* memory, std::size_t) noexcept {
  ::operator delete(memory);
}

namespace {

/// Called by the operators' kernels before they return.
std::function<void()> inside;

at::Tensor kernel(const at::Tensor& tensor) {
  if (inside) inside();
  return tensor.clone();
}

/// Registers an operator for the life of this object.
class Operator {
 public:
  explicit Operator(std::string name)
      : name_("highwater_check::" + name),
        library_(torch::Library::FRAGMENT, "highwater_check", std::nullopt, __FILE__, __LINE__) {
    const std::size_t missing = kNameLength - std::min(name_.size(), kNameLength);
    name_.append(missing, '_');
    name.append(missing, '_');
    library_.def((name + "(Tensor tensor) -> Tensor").c_str(), &kernel);
  }
  void call() const {
    c10::Dispatcher::singleton()
        .findSchemaOrThrow(name_.c_str(), "")
        .typed<at::Tensor(const at::Tensor&)>()
        .call(at::ones({2}));
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const char* nameAddress() const {
    return c10::Dispatcher::singleton()
        .findSchemaOrThrow(name_.c_str(), "")
        .schema()
        .name()
        .c_str();
  }

 private:
  std::string name_;
  torch::Library library_;
};

/// Takes the operators recorded since the last call, with their depth.
class Recorded {
 public:
  explicit Recorded(Recorder& recorder) : recorder_(recorder) {}
  std::map<std::string, int> take() {
    Definitions definitions;
    recorder_.names().takeNew(definitions);
    for (const NameDefinition& each : definitions.names) names_[each.id] = each.text;
    std::map<std::string, int> ops;
    recorder_.lane().drain([&](const EventRecord& record) {
      record.visit([&](const auto& event) {
        if constexpr (std::is_same_v<std::decay_t<decltype(event)>, events::OpSpan>) {
          const std::string& name = names_[event.op()];
          if (name.rfind("highwater_check::", 0) == 0) ops[name] = event.depth();
        }
      });
    });
    return ops;
  }

 private:
  Recorder& recorder_;
  std::map<NameId, std::string> names_;
};

bool check(bool fine, const char* what) {
  if (!fine) std::fprintf(stderr, "operator_names_check: %s\n", what);
  return fine;
}

bool callAll(const std::vector<std::unique_ptr<Operator>>& operators, Recorded& recorded) {
  for (const auto& each : operators) {
    each->call();
    if (recorded.take() != std::map<std::string, int>{{each->name(), 0}}) return false;
  }
  return true;
}

std::vector<std::unique_ptr<Operator>> makeOperators(const std::string& prefix) {
  std::vector<std::unique_ptr<Operator>> made;
  for (int i = 0; i < kOperators; ++i) {
    made.push_back(std::make_unique<Operator>(prefix + std::to_string(100 + i)));
  }
  return made;
}

/// Replaces operators, so that some new names lie where old ones were.
bool checkAddresses(Recorded& recorded) {
  auto operators = makeOperators("goes_again_");
  if (!check(callAll(operators, recorded), "the first operators")) return false;
  std::set<const void*> addresses;
  for (const auto& each : operators) addresses.insert(each->nameAddress());
  operators.clear();
  operators = makeOperators("comes_then_");
  if (!check(callAll(operators, recorded), "the operators after them")) return false;
  const bool same = std::any_of(operators.begin(), operators.end(), [&](const auto& each) {
    return addresses.count(each->nameAddress()) > 0;
  });
  return check(same, "no name is where one was before");
}

/// Deregisters an operator while another one is open.
bool checkOpenOps(Recorder& recorder, Recorded& recorded) {
  auto gone = std::make_unique<Operator>("goes_inside");
  const Operator outer("outer_operator"), inner("inner_operator");
  gone->call();
  (void)recorded.take();
  inside = [&] {
    inside = nullptr;
    gone.reset();
    inner.call();
  };
  outer.call();
  const std::map<std::string, int> expected = {{outer.name(), 0}, {inner.name(), 1}};
  OpenSpanStack::Views views;
  return check(recorded.take() == expected, "the open op and the one in it") &&
         check(recorder.lane().openSpans().read(views, INT64_MAX) == 0, "a span stays open");
}

}  // namespace

int main() {
  Recorder recorder(RunClock::startingNow());
  const OpObserver observer(recorder);
  recorder.setLevel(events::ProbeLevel::Ops);
  Recorded recorded(recorder);
  return checkAddresses(recorded) && checkOpenOps(recorder, recorded) ? 0 : 1;
}
