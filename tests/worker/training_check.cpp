// The model and the programs of the scenarios, on the CPU; and what the self-test writes as JSON.
#include <torch/torch.h>

#include <set>
#include <string>

#include "check.h"
#include "worker/checks/json_line.h"
#include "worker/checks/self_test.h"
#include "worker/training/model.h"
#include "worker/training/scenario.h"

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

void modelGivesALogitForEachLabel() {
  auto model = smallModel();
  check(model->forward(someIds()).sizes() == torch::IntArrayRef({kBatch, kLabels}), "logits");
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

void modelTrainsAllParameters() {
  auto model = smallModel();
  const torch::Tensor labels = torch::zeros({kBatch}, torch::kLong);
  torch::nn::functional::cross_entropy(model->forward(someIds()), labels).backward();
  for (const auto& parameter : model->named_parameters()) {
    check(parameter.value().grad().defined(), parameter.key().c_str());
  }
}

struct Texts {
  DataSet data;
  Vocabulary vocabulary;
  EncodedTexts encoded;
};

Texts someTexts() {
  Texts texts;
  texts.data.labelNames = {"bug", "idea"};
  texts.data.train.texts = {"the window hangs after a fallback", "add a dark theme please",
                            "crash in readCsvFile", "show tokens per second"};
  texts.data.train.labels = {0, 1, 0, 1};
  texts.vocabulary = Vocabulary::build(texts.data.train.texts);
  texts.encoded = encodeTexts(texts.data.train, texts.vocabulary);
  return texts;
}

void everyScenarioHasAProgram() {
  const Texts texts = someTexts();
  const ScenarioProgram::Material material{texts.data, texts.encoded, texts.vocabulary, 1};
  for (const char* key : {"plain", "chatty_logging", "hidden_fallback", "host_bound", "shape_churn",
                          "memory_growth"}) {
    const auto program = makeScenarioProgram(key, material);
    check(program.ok(), key);
    if (!program) continue;
    const HostBatch batch = (*program)->assemble({0, 3}, 8);
    check(batch.batchSize == 2 && batch.ids.size() == 16 && batch.labels.size() == 2, key);
    torch::Tensor logits = torch::rand({2, 2}, torch::requires_grad());
    torch::Tensor loss = (*program)->loss(logits, torch::tensor({0, 1}));
    (*program)->backward(loss);
    check(loss.dim() == 0 && logits.grad().defined(), key);
  }
  check(!makeScenarioProgram("none", material).ok(), "an unknown program");
}

void shapeChurnVariesTheLength() {
  const Texts texts = someTexts();
  const ScenarioProgram::Material material{texts.data, texts.encoded, texts.vocabulary, 1};
  const auto program = makeScenarioProgram("shape_churn", material);
  std::set<std::uint32_t> lengths;
  for (int i = 0; i < 100; ++i) lengths.insert((*program)->sequenceLength(64));
  check(lengths.size() > 10 && *lengths.begin() >= 8 && *lengths.rbegin() <= 64, "lengths");
  check((*program)->sequenceLength(4) == 4, "a length below the shortest");
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

int main() {
  modelGivesALogitForEachLabel();
  modelIgnoresPadding();
  modelTrainsAllParameters();
  everyScenarioHasAProgram();
  shapeChurnVariesTheLength();
  answersAreJson();
  return test::failures();
}
