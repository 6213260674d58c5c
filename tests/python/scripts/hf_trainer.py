import sys
import tempfile

import torch
from transformers import (BertConfig, BertForSequenceClassification, PrinterCallback, Trainer, TrainerCallback,
                          TrainingArguments)


class Losses(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        print(state.global_step, {key: value.hex() for key, value in logs.items()
                                  if isinstance(value, float) and "loss" in key})


torch.manual_seed(11)
config = BertConfig(vocab_size=60, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                    intermediate_size=32, max_position_embeddings=32)
data = [{"input_ids": torch.randint(60, (12,)), "labels": torch.tensor(i % 2)} for i in range(32)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, per_device_train_batch_size=4, gradient_accumulation_steps=2,
                                  per_device_eval_batch_size=8, num_train_epochs=2, logging_steps=1,
                                  eval_strategy="epoch", save_strategy="no", report_to=[], disable_tqdm=True,
                                  use_cpu=sys.argv[1:] != ["mps"])
    trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=data,
                      eval_dataset=data[:16], callbacks=[Losses()])
    trainer.remove_callback(PrinterCallback)  # prints how fast it was
    trainer.train()
