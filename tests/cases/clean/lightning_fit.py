"""A Lightning module that logs its loss once an epoch, without a progress bar."""
import logging
import platform
import warnings

platform.processor = lambda: "arm"  # Lightning looks for MPS by it
import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256))

    def training_step(self, batch, _):
        inputs, = batch
        loss = nn.functional.mse_loss(self.layers(inputs), inputs)
        self.log("loss", loss, on_step=False, on_epoch=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


torch.manual_seed(0)
trainer = lightning.Trainer(max_epochs=3, accelerator="mps", logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Regression(), DataLoader(TensorDataset(torch.rand(4096, 256)), batch_size=256))
