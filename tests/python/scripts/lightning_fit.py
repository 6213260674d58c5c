import logging
import platform
import sys
import warnings

platform.processor = lambda: "arm"  # Lightning looks for MPS by it
import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 2))

    def training_step(self, batch, _):
        inputs, targets = batch
        loss = nn.functional.cross_entropy(self.layers(inputs), targets)
        print("train", loss.item().hex())
        return loss

    def validation_step(self, batch, _):
        inputs, targets = batch
        print("valid", nn.functional.cross_entropy(self.layers(inputs), targets).item().hex())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


torch.manual_seed(12)
data = TensorDataset(torch.randn(96, 20), torch.randint(2, (96,)))
trainer = lightning.Trainer(max_epochs=2, accelerator=sys.argv[1] if sys.argv[1:] else "cpu", logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Classifier(), DataLoader(data, batch_size=16), DataLoader(data, batch_size=32))
