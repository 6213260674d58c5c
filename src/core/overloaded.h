#pragma once

namespace highwater {

/// A visitor made of lambdas, one for each alternative: std::visit(Overloaded{...}, variant).
template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
// AppleClang 15 does not deduce the arguments of an aggregate without this guide.
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace highwater
