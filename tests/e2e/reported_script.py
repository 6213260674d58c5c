"""A training whose report tst_script_report knows: 24 steps of 16 rows, a phase of its own at each, a loss read at
each, two evaluations of three batches that read their results, and a checkpoint after each."""
import io

import highwater_mps as highwater
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
BATCHES, ROWS = 12, 16


def make_model():
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5)).to(device)


def evaluate(model, held_out, labels):
    model.eval()
    right = 0
    with torch.no_grad():
        for inputs, wanted in zip(held_out.split(ROWS), labels.split(ROWS)):
            right += (model(inputs).argmax(1) == wanted).sum().item()  # the evaluation's read
    return right


def main():
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    held_out, wanted = torch.randn(3 * ROWS, 20).to(device), torch.randint(5, (3 * ROWS,)).to(device)
    for _ in range(2):
        model.train()
        for _ in range(BATCHES):
            with highwater.phase("augment"):
                inputs = torch.randn(ROWS, 20).flip(0)
            inputs, labels = inputs.to(device), torch.randint(5, (ROWS,)).to(device)
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"{loss.item():.3f}")  # the training's read
        print(evaluate(model, held_out, wanted))
        torch.save(model.state_dict(), io.BytesIO())


if __name__ == "__main__":
    main()
