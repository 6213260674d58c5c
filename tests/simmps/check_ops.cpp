#include <ATen/core/grad_mode.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simmps/check_mps.h"

// Each op of the sample workload, forward and backward: bit-identical to the CPU.
namespace {

using at::Tensor;
using checks::kMps;
using Tensors = std::vector<Tensor>;
using Op = std::function<Tensor(const Tensors&)>;

Tensors copiesOn(at::Device device, const Tensors& inputs) {
  Tensors copies;
  for (const Tensor& input : inputs) {
    Tensor copy = input.detach().to(device, /*non_blocking=*/false, /*copy=*/true);
    if (input.is_floating_point()) copy.requires_grad_();
    copies.push_back(copy);
  }
  return copies;
}

void requireSame(const std::string& what, const Tensor& mps, const Tensor& cpu) {
  if (!mps.is_mps()) throw checks::Failed(what + ": result is not on mps");
  if (mps.sizes() != cpu.sizes() || mps.scalar_type() != cpu.scalar_type()) {
    throw checks::Failed(what + ": other sizes or dtype than on the CPU");
  }
  const Tensor back = mps.detach().cpu();
  const bool same = cpu.is_floating_point()
                        ? at::equal(back.nan_to_num(123), cpu.detach().nan_to_num(123))
                        : at::equal(back, cpu);
  if (!same) throw checks::Failed(what + ": other values than on the CPU");
}

void compare(const std::string& name, const Tensors& inputs, const Op& op) {
  const Tensors onCpu = copiesOn(at::kCPU, inputs), onMps = copiesOn(kMps, inputs);
  at::manual_seed(5);
  const Tensor cpu = op(onCpu);
  at::manual_seed(5);
  const Tensor mps = op(onMps);
  requireSame(name, mps, cpu);
  if (!cpu.requires_grad()) return;
  const Tensor weight = at::linspace(-1, 1, cpu.numel()).view(cpu.sizes());
  (cpu * weight).sum().backward();
  (mps * weight.to(kMps)).sum().backward();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (onCpu[i].grad().defined()) {
      requireSame(name + ", gradient " + std::to_string(i), onMps[i].grad(), onCpu[i].grad());
    }
  }
}

Tensor sample(at::IntArrayRef sizes) {
  return at::randn(sizes);
}

}  // namespace

CHECK_CASE(workloadOpsMatchTheCpu) {
  at::manual_seed(3);
  const Tensor x = sample({4, 6, 8}), row = sample({8}), square = sample({8, 8});
  const Tensor tokens = at::randint(0, 10, {4, 6}), labels = at::randint(0, 8, {4});
  compare("embedding", {sample({10, 8}), tokens},
          [](const Tensors& t) { return at::embedding(t[0], t[1]); });
  compare("linear", {x, square, row},
          [](const Tensors& t) { return at::linear(t[0], t[1], t[2]); });
  compare("layer_norm", {x, row, row},
          [](const Tensors& t) { return at::layer_norm(t[0], {8}, t[1], t[2]); });
  compare("layer_norm without weights", {x},
          [](const Tensors& t) { return at::layer_norm(t[0], {8}); });
  compare("gelu", {x}, [](const Tensors& t) { return at::gelu(t[0]); });
  compare("relu", {x}, [](const Tensors& t) { return at::relu(t[0]); });
  compare("dropout", {x}, [](const Tensors& t) { return at::dropout(t[0], 0.3, true); });
  compare("native_dropout", {x},
          [](const Tensors& t) { return std::get<0>(at::native_dropout(t[0], 0.3, true)); });
  compare("softmax", {x}, [](const Tensors& t) { return at::softmax(t[0], -1); });
  compare("matmul", {x, square}, [](const Tensors& t) { return at::matmul(t[0], t[1]); });
  compare("bmm", {x, sample({4, 8, 3})}, [](const Tensors& t) { return at::bmm(t[0], t[1]); });
  compare("mean", {x}, [](const Tensors& t) { return t[0].mean(1); });
  compare("sum", {x}, [](const Tensors& t) { return t[0].sum(); });
  compare("cross_entropy", {sample({4, 8}), labels},
          [](const Tensors& t) { return at::cross_entropy_loss(t[0], t[1]); });
  compare("attention", {x, x, x}, [](const Tensors& t) {
    return std::get<0>(at::_scaled_dot_product_attention_math(t[0], t[1], t[2]));
  });
  at::globalContext().setSDPUseFlash(false);  // the CPU takes the math path too
  compare("scaled_dot_product_attention", {x, x, x},
          [](const Tensors& t) { return at::scaled_dot_product_attention(t[0], t[1], t[2]); });
  compare("argmax", {x}, [](const Tensors& t) { return t[0].argmax(-1); });
  compare("eq", {tokens, tokens.flip(0)}, [](const Tensors& t) { return t[0].eq(t[1]); });
  compare("nonzero", {tokens}, [](const Tensors& t) { return t[0].gt(4).nonzero(); });
  compare("boolean index", {x}, [](const Tensors& t) { return t[0].index({t[0].gt(0)}); });
  compare("index_select", {x, at::randint(0, 6, {3})},
          [](const Tensors& t) { return t[0].index_select(1, t[1]); });
  compare("masked_fill", {x},
          [](const Tensors& t) { return t[0].masked_fill(t[0].detach().lt(0), -1e9); });
  compare("where", {x, x},
          [](const Tensors& t) { return at::where(t[0].detach().gt(0), t[0], t[1] * 2); });
  compare("cat", {x, x}, [](const Tensors& t) { return at::cat({t[0], t[1]}, 1); });
  compare("permute and reshape", {x}, [](const Tensors& t) {
    return t[0].permute({2, 0, 1}).reshape({8, -1});
  });
  compare("unfold", {x}, [](const Tensors& t) { return t[0].unfold(1, 3, 2); });
  compare("cumsum", {x}, [](const Tensors& t) { return t[0].cumsum(1); });
  compare("topk", {x}, [](const Tensors& t) { return std::get<0>(t[0].topk(3, -1)); });
  compare("std", {x}, [](const Tensors& t) { return t[0].std(1); });
  compare("conv1d", {x, sample({5, 6, 3}), sample({5})},
          [](const Tensors& t) { return at::conv1d(t[0], t[1], t[2], 1, 1); });
  compare("mean squared error", {x, x.flip(0)},
          [](const Tensors& t) { return at::mse_loss(t[0], t[1]); });
  compare("int8 with a number", {at::ones({4}, at::kChar)},
          [](const Tensors& t) { return t[0] * 2; });
  compare("bfloat16", {x}, [](const Tensors& t) { return t[0].to(at::kBFloat16).mul(3); });
}

CHECK_CASE(attentionMatchesTheCpu) {
  at::globalContext().setSDPUseFlash(false);  // the CPU takes the math path too
  at::manual_seed(4);
  const Tensor query = sample({2, 4, 5, 8}), key = sample({2, 4, 6, 8}),
               value = sample({2, 4, 6, 8});
  struct Case {
    std::string name;
    Tensor mask;
    double dropout = 0;
    bool causal = false;
    std::optional<double> scale = std::nullopt;
    bool groupedQueries = false;
    Tensors inputs = {};
  };
  Tensor masksRows = at::rand({5, 6}).gt(0.4);
  masksRows[1].fill_(false);  // a query that may look at nothing
  const std::vector<Case> cases = {
      {"boolean mask", at::rand({2, 1, 5, 6}).gt(0.4)},
      {"boolean mask with a row of false", masksRows},
      {"boolean mask of one key", at::ones({5, 1}, at::kBool)},
      {"float mask", sample({5, 6})},
      {"float mask with a row of -inf", at::zeros({5, 6}).masked_fill(~masksRows, -INFINITY)},
      {"causal", {}, 0, true},
      {"scale", {}, 0, false, 0.3},
      {"negative scale and boolean mask", masksRows, 0, false, -0.5},
      {"dropout and boolean mask", masksRows, 0.3},
      {"grouped queries",
       masksRows,
       0,
       false,
       std::nullopt,
       true,
       {query, sample({2, 2, 6, 8}), sample({2, 2, 6, 8})}},
      {"half with a float mask",
       sample({5, 6}),
       0,
       false,
       std::nullopt,
       false,
       {query.to(at::kHalf), key.to(at::kHalf), value.to(at::kHalf)}},
  };
  for (const Case& each : cases) {
    Tensors inputs = each.inputs.empty() ? Tensors{query, key, value} : each.inputs;
    if (each.mask.defined()) inputs.push_back(each.mask);
    const Op attend = [&each](const Tensors& t) {
      const std::optional<Tensor> mask = t.size() > 3 ? std::optional(t[3]) : std::nullopt;
      return at::scaled_dot_product_attention(t[0], t[1], t[2], mask, each.dropout, each.causal,
                                              each.scale, each.groupedQueries);
    };
    compare("attention, " + each.name, inputs, attend);
    const at::NoGradGuard inference;
    compare("attention without gradients, " + each.name, inputs, attend);
  }
}

CHECK_CASE(attentionRefusesWhatTheCpuRefuses) {
  at::globalContext().setSDPUseFlash(false);  // as above
  const auto refused = [](at::Device device, const Tensor& mask, bool causal, at::ScalarType keys) {
    const Tensor query = at::ones({1, 2, 3, 4}).to(device);
    return checks::thrown<c10::Error>([&] {
      at::scaled_dot_product_attention(query, query.to(keys), query, mask.to(device), 0, causal);
    });
  };
  const auto requireSameText = [&refused](const Tensor& mask, bool causal, at::ScalarType keys) {
    const std::string cpu = refused(at::kCPU, mask, causal, keys);
    const std::string firstLine = cpu.substr(0, cpu.find('\n'));
    REQUIRE_EQUAL(refused(kMps, mask, causal, keys).substr(0, firstLine.size()), firstLine);
  };
  requireSameText(at::zeros({3, 3}, at::kLong), false, at::kFloat);
  requireSameText(at::zeros({3, 3}, at::kHalf), false, at::kFloat);
  requireSameText(at::zeros({3, 3}), true, at::kFloat);
  requireSameText(at::zeros({3, 3}), false, at::kHalf);
}

CHECK_CASE(randomNumbersMatchTheCpu) {
  at::manual_seed(11);
  const Tensors cpu = {at::rand({50}), at::randn({50}), at::randint(0, 9, {50}), at::randperm(9)};
  const auto mps = at::TensorOptions().device(kMps);
  at::manual_seed(11);
  const Tensors drawn = {at::rand({50}, mps), at::randn({50}, mps),
                         at::randint(0, 9, {50}, mps.dtype(at::kLong)),
                         at::randperm(9, mps.dtype(at::kLong))};
  for (std::size_t i = 0; i < cpu.size(); ++i) requireSame("random", drawn[i], cpu[i]);
  // Drawing on one device does not advance the other's generator.
  const Tensor next = at::rand({5}, mps);
  at::manual_seed(11);
  const Tensors again = {at::rand({50}, mps), at::randn({50}, mps),
                         at::randint(0, 9, {50}, mps.dtype(at::kLong)),
                         at::randperm(9, mps.dtype(at::kLong))};
  at::rand({1000});
  REQUIRE(at::equal(at::rand({5}, mps).cpu(), next.cpu()));
}

CHECK_CASE(copiesKeepValues) {
  const Tensor host = at::randn({300, 200});
  for (const bool nonBlocking : {false, true}) {
    Tensor source = host.clone();
    const Tensor device = source.to(kMps, nonBlocking, /*copy=*/true);
    source.zero_();
    REQUIRE(at::equal(device.cpu(), host));
    Tensor back = at::empty_like(host);
    back.copy_(device, nonBlocking);
    // A scalar read waits for everything that was submitted before it.
    device.sum().item<float>();
    REQUIRE(at::equal(back, host));
  }
  const Tensor device = host.to(kMps);
  REQUIRE(at::equal(device.t().to(at::kHalf).cpu(), host.t().to(at::kHalf)));
  Tensor expanded = at::empty({3, 300, 200}, device.options());
  expanded.copy_(host);
  REQUIRE(at::equal(expanded.cpu(), host.expand({3, 300, 200})));
  Tensor part = at::zeros({300, 200}, device.options());
  part.slice(1, 50, 150).copy_(device.slice(1, 0, 100));
  REQUIRE(at::equal(part.slice(1, 50, 150).cpu(), host.slice(1, 0, 100)));
}

CHECK_CASE(outTensorsAreSized) {
  const Tensor a = at::randn({4, 5}).to(kMps), b = at::randn({5, 3}).to(kMps);
  Tensor empty = at::empty({0}, a.options());
  at::mm_out(empty, a, b);
  REQUIRE(at::equal(empty.cpu(), a.cpu().mm(b.cpu())));
  Tensor indices = at::empty({0}, a.options().dtype(at::kLong));
  at::nonzero_out(indices, a.gt(0));
  REQUIRE(at::equal(indices.cpu(), a.cpu().gt(0).nonzero()));
  Tensor wrong = at::empty({2}, a.options());
  at::mm_out(wrong, a, b);  // warns, as PyTorch does
  REQUIRE(at::equal(wrong.cpu(), a.cpu().mm(b.cpu())));
  Tensor tooLarge = at::empty({9, 9}, a.options());
  at::abs_out(tooLarge, a);
  REQUIRE(at::equal(tooLarge.cpu(), a.cpu().abs()));
}

CHECK_CASE(sizesThatDoNotFitAreRefusedAtOnce) {
  const Tensor a = at::randn({4, 5}).to(kMps);
  const auto text = checks::thrown<c10::Error>([&] { at::mm(a, a); });
  REQUIRE(text.find("mat1 and mat2 shapes cannot be multiplied (4x5 and 4x5)") !=
          std::string::npos);
  checks::thrown<c10::Error>([&] { a.add(a.t()); });
  checks::thrown<c10::Error>([&] { at::where(a.gt(0), a, a.t()); });
  checks::thrown<c10::Error>([&] { a.clone().masked_fill_(a.t().gt(0), 1); });
  checks::thrown<c10::Error>([&] { at::conv2d(a.view({1, 1, 4, 5}), a.view({1, 2, 2, 5})); });
  REQUIRE(at::equal(a.mul(2).cpu(), a.cpu().mul(2)));  // nothing was queued
}

CHECK_CASE(argumentsAreRefusedAtOnce) {
  const Tensor a = at::ones({3}, at::TensorOptions().device(kMps));
  Tensor integers = at::zeros({3}, a.options().dtype(at::kLong));
  const std::string text = "result type Float can't be cast to the desired output type Long";
  REQUIRE(checks::thrown<c10::Error>([&] { at::add_out(integers, a, a); }).find(text) == 0);
  REQUIRE(checks::thrown<c10::Error>([&] { integers.add_(a); }).find(text) == 0);
  REQUIRE(checks::thrown<c10::Error>([&] { integers.sqrt_(); }).find(text) == 0);
  const auto draw = [](const Tensor& weights, std::int64_t count) {
    return checks::thrown<c10::Error>([&] { at::multinomial(weights, count); });
  };
  REQUIRE(draw(a.view({1, 1, 3}), 1).find("prob_dist must be 1 or 2 dim") == 0);
  REQUIRE(draw(integers, 1).find("multinomial only supports floating-point dtypes") == 0);
  REQUIRE(draw(a, 4).find("cannot sample n_sample > prob_dist.size(-1) samples without") == 0);
  REQUIRE(draw(a, 0).find("cannot sample n_sample <= 0 samples") == 0);
  // No error is left for a later wait.
  REQUIRE_EQUAL(integers.sum().item<std::int64_t>(), 0);
  Tensor truth = at::empty({3}, a.options().dtype(at::kBool));
  at::gt_out(truth, a, a.mul(0.5));
  REQUIRE(truth.all().item<bool>());
}

CHECK_CASE(float64IsRefused) {
  const std::string expected =
      "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
      "Please use float32 instead.";
  const auto doubles = at::TensorOptions().device(kMps).dtype(at::kDouble);
  const auto text = checks::thrown<c10::TypeError>([&] { at::empty({2}, doubles); });
  REQUIRE(text.find(expected) != std::string::npos);
  const Tensor floats = at::ones({2}, at::TensorOptions().device(kMps));
  checks::thrown<c10::TypeError>([&] { floats.to(at::kDouble); });
  checks::thrown<c10::TypeError>([&] { at::ones({2}, at::kDouble).to(kMps); });
}

CHECK_CASE(deviceErrorsNameTheirOp) {
  const Tensor weights = at::randn({4, 2}).to(kMps);
  const Tensor tokens = at::full({3}, 9, at::kLong).to(kMps);
  const Tensor result = at::embedding(weights, tokens);
  const auto text = checks::thrown<c10::Error>([&] { result.sum().item<float>(); });
  REQUIRE(text.find("index out of range") != std::string::npos);
  REQUIRE(text.find("aten::index_select") != std::string::npos);
  REQUIRE_EQUAL(weights.mul(0).sum().item<float>(), 0);
}
