"""The training of script-dark.png: a stock Trainer of transformers."""
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

torch.manual_seed(7)
config = BertConfig(vocab_size=2000, hidden_size=128, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=512, max_position_embeddings=64)
data = [{"input_ids": torch.randint(2000, (64,)), "labels": torch.tensor(i % 2)} for i in range(400)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, per_device_train_batch_size=8, num_train_epochs=3, save_strategy="no",
                                  report_to=[], disable_tqdm=True)
    Trainer(BertForSequenceClassification(config), arguments, train_dataset=data).train()
