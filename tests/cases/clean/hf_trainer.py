"""The Trainer of transformers, which logs every 20 steps and does not look at each loss for NaN."""
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

torch.manual_seed(0)
config = BertConfig(vocab_size=200, hidden_size=192, num_hidden_layers=2, num_attention_heads=4, intermediate_size=768,
                    max_position_embeddings=64)
texts = [{"input_ids": torch.randint(200, (48,)), "labels": torch.tensor(number % 2)} for number in range(320)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, per_device_train_batch_size=16, num_train_epochs=2, logging_steps=20,
                                  logging_nan_inf_filter=False, save_strategy="no", report_to=[], disable_tqdm=True)
    Trainer(BertForSequenceClassification(config), arguments, train_dataset=texts).train()
