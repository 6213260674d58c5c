#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "probe/call_sites/own_process.h"
#include "probe/call_sites/symbolizer.h"

namespace highwater::probe {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// Linkage name of a function's debug information entry, else its plain name.
const char* nameOf(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
    if (dwarf_attr_integrate(die, name, &attribute)) {
      if (const char* text = dwarf_formstring(&attribute)) return text;
    }
  }
  return nullptr;
}

std::uint32_t numberOf(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  const bool known = dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0;
  return known ? static_cast<std::uint32_t>(value) : 0;
}

std::string callFile(Dwarf_Die* unit, Dwarf_Die* inlined) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  const std::uint32_t index = numberOf(inlined, DW_AT_call_file);
  if (dwarf_getsrcfiles(unit, &files, &count) != 0 || index >= count) return {};
  const char* name = dwarf_filesrc(files, index, nullptr, nullptr);
  return name ? name : "";
}

class DwarfSymbolizer : public Symbolizer {
 public:
  DwarfSymbolizer() : dwfl_(dwfl_begin(&callbacks())) {
    if (dwfl_) reportLibraries();
  }
  ~DwarfSymbolizer() override { dwfl_end(dwfl_); }

  std::vector<SourcePlace> placesOf(const void* returnAddress) override {
    std::vector<SourcePlace> places = placesByTables(returnAddress);
    const auto saysNothing = [](const SourcePlace& place) {
      return place.function.empty() && place.file.empty();
    };
    // The file could not be read: it was deleted, or /proc is not accessible.
    const bool unknown = std::all_of(places.begin(), places.end(), saysNothing);
    return unknown ? placesByLinker(returnAddress) : places;
  }

 private:
  std::vector<SourcePlace> placesByTables(const void* returnAddress) {
    if (!dwfl_) return {};
    // A return address may be the first byte of the next function.
    const auto address = reinterpret_cast<Dwarf_Addr>(returnAddress) - 1;
    if (unloadedLibraries() != unloaded_) reportLibraries();
    Dwfl_Module* module = moduleAt(address);
    if (!module) {  // its library may have been loaded since
      reportLibraries();
      module = moduleAt(address);
    }
    if (!module) return {};
    SourcePlace place;
    if (Dwfl_Line* line = dwfl_module_getsrc(module, address)) {
      int number = 0;
      const char* file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
      if (file) place.file = file;
      place.line = static_cast<std::uint32_t>(number);
    }
    std::vector<SourcePlace> places = inlinedPlaces(module, address, place);
    if (places.empty()) {
      place.function = functionName(dwfl_module_addrname(module, address));
      places.push_back(place);
    }
    return places;
  }

  /// The library that holds `address`. libdwfl rounds the ends of modules, and so attributes an
  /// address in the gap between two of them to the wrong one.
  Dwfl_Module* moduleAt(Dwarf_Addr address) {
    Dwfl_Module* module = dwfl_addrmodule(dwfl_, address);
    Dwarf_Addr start = 0, end = 0;
    if (!module ||
        !dwfl_module_info(module, nullptr, &start, &end, nullptr, nullptr, nullptr, nullptr)) {
      return nullptr;
    }
    return address >= start && address < end ? module : nullptr;
  }

  /// Modules that are known and still loaded keep their tables.
  void reportLibraries() {
    unloaded_ = unloadedLibraries();
    dwfl_report_begin(dwfl_);
    dwfl_linux_proc_report(dwfl_, ::getpid());
    dwfl_report_end(dwfl_, nullptr, nullptr);
  }

  static const Dwfl_Callbacks& callbacks() {
    // No search for separate debug files: it may ask a server.
    static const Dwfl_Callbacks callbacks = {
        dwfl_linux_proc_find_elf,
        [](Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
           char**) { return -1; },
        nullptr, nullptr};
    return callbacks;
  }

  /// The inlined functions at `address`, from debug information; `innermost` has file and line of
  /// the first.
  static std::vector<SourcePlace> inlinedPlaces(Dwfl_Module* module, Dwarf_Addr address,
                                                SourcePlace innermost) {
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
    if (!unit) return {};
    Dwarf_Die* found = nullptr;
    int count = dwarf_getscopes(unit, address - bias, &found);
    const std::unique_ptr<Dwarf_Die, Free> scopes(found);
    if (count <= 0) return {};
    // The chain of functions that the innermost scope was inlined into.
    Dwarf_Die* chain = nullptr;
    count = dwarf_getscopes_die(found, &chain);
    const std::unique_ptr<Dwarf_Die, Free> parents(chain);
    std::vector<SourcePlace> places;
    SourcePlace next = std::move(innermost);
    for (int i = 0; i < count; ++i) {
      const int tag = dwarf_tag(&chain[i]);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
      next.function = functionName(nameOf(&chain[i]));
      places.push_back(next);
      if (tag == DW_TAG_subprogram) break;
      next = {{}, callFile(unit, &chain[i]), numberOf(&chain[i], DW_AT_call_line)};
    }
    return places;
  }

  Dwfl* dwfl_;
  std::uint64_t unloaded_ = 0;  // when the libraries were last reported
};

}  // namespace

std::unique_ptr<Symbolizer> makeSymbolizer() {
  return std::make_unique<DwarfSymbolizer>();
}

}  // namespace highwater::probe
