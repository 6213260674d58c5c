// The model ignores padding; and what the self-test writes as JSON.
#include <torch/torch.h>

#include <string>

#include "check.h"
#include "worker/checks/json_line.h"
#include "worker/checks/self_test.h"
#include "worker/data/tokenizer.h"
#include "worker/training/model.h"

using namespace highwater;
using namespace highwater::worker;
using test::check;

namespace {

constexpr std::int64_t kVocabulary = 20, kLabels = 3, kBatch = 2, kLength = 6;

IssueClassifier smallModel() {
  torch::manual_seed(1);
  IssueClassifier model(ModelSize{"small", 16, 2, 4, 32}, kVocabulary, kLabels);
  model->eval();
  return model;
}

torch::Tensor someIds() {
  return torch::randint(2, kVocabulary, {kBatch, kLength}, torch::kLong);
}

void modelIgnoresPadding() {
  auto model = smallModel();
  const torch::Tensor ids = someIds();
  const torch::Tensor padding = torch::full({kBatch, 4}, kPadToken, torch::kLong);
  const torch::Tensor padded = torch::cat({ids, padding}, 1);
  check(torch::allclose(model->forward(ids), model->forward(padded), 1e-4, 1e-5),
        "padding changes no logit");
  check(!torch::allclose(model->forward(ids), model->forward(ids.flip(1)), 1e-4, 1e-5),
        "the order of tokens counts");
}

void answersAreJson() {
  const auto all = selfCheckListJson();
  check(all.is_array() && !all.empty() && all[0]["id"].is_string(), "the list of checks");
  const auto json = checkResultJson(passed("fine", {{"time", 1.5, "ms"}, {"rate", NAN, ""}}));
  const std::string text = jsonLine(json);
  check(text == R"({"outcome":"pass","detail":"fine","measures":[{"name":"time","value":1.5,)"
                R"("unit":"ms"},{"name":"rate","value":null,"unit":""}]})",
        text.c_str());
  check(jsonLine(checkResultJson(failed("a\xff"))).find("a\xEF\xBF\xBD") != std::string::npos,
        "bytes that are not UTF-8 are replaced");
}

}  // namespace

void test::checkTraining() {
  modelIgnoresPadding();
  answersAreJson();
}
