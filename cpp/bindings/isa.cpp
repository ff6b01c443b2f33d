// Which instruction set the kernels use.
#include "core/isa.hpp"

#include <string>

#include "bindings.hpp"

namespace winkel {

void bind_isa(nb::module_& m) {
  m.def(
      "instruction_sets",
      [] {
        nb::list names;
        for (int level = isa::baseline; level <= isa::highest(); ++level) names.append(isa::kNames[level]);
        return names;
      },
      nb::sig("def instruction_sets() -> list[str]"),
      "Names of the instruction sets that this processor and build have, the highest last.");
  m.def(
      "instruction_set", [] { return isa::kNames[isa::level().load()]; },
      "The instruction set in use: the highest one, or what WINKEL_ISA named when the library was loaded.");
  m.def(
      "use_instruction_set", [](const std::string& name) { isa::level().store(isa::named(name)); },
      nb::arg("name"),
      "Runs kernels in the form for this instruction set from now on: for tests of one against another.");
}

}  // namespace winkel
