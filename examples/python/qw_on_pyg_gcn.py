"""The QW loss on a GCN of PyTorch Geometric, on Cora."""

import qw
import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv


class GCN(torch.nn.Module):
    def __init__(self, inputs, classes, hidden=64):
        super().__init__()
        self.conv1 = GCNConv(inputs, hidden)
        self.conv2 = GCNConv(hidden, classes)

    def forward(self, x, edge_index):
        x = F.dropout(F.relu(self.conv1(x, edge_index)), training=self.training)
        return self.conv2(x, edge_index)


def main(epochs=100):
    torch.manual_seed(0)
    data = qw.load("cora").to_pyg()
    model = GCN(data.num_features, 7)

    # lam is above half the number of labelled nodes: below it the optimal flow is zero, and the loss says so.
    loss = qw.QWLoss(data.edge_index, num_nodes=data.num_nodes, num_classes=7, lam=2000.0)
    opt = loss.optimizer(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(epochs):
        model.train()
        opt.zero_grad()
        out = model(data.x, data.edge_index)
        value = loss(out, data.y, data.train_mask)
        value.backward()
        opt.step()

    model.eval()
    with torch.no_grad():
        out = model(data.x, data.edge_index)
        scores = loss.predict(out)  # g + S F
    right = (scores.argmax(1) == data.y)[data.test_mask].float().mean()
    carried = (loss.flow != 0).any(1).sum()
    print(f"loss {value:.1f}, {carried} of {loss.flow.shape[0]} edges carry flow, test accuracy {right:.3f}")
    return float(right)


if __name__ == "__main__":
    main()
