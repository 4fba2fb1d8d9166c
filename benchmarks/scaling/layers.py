"""The BatchNorm layers of torchvision's ResNet-50 for 224 x 224 images: (channels, side)."""

from __future__ import annotations


def resnet50() -> list[tuple[int, int]]:
    layers = [(64, 112)]
    before = 56
    for stage, blocks in enumerate((3, 4, 6, 3)):
        middle, side = 64 << stage, 56 >> stage
        for block in range(blocks):
            # The stride is that of the second convolution: the first still sees the side before it.
            layers += [(middle, before if block == 0 else side), (middle, side), (4 * middle, side)]
            layers += [(4 * middle, side)] if block == 0 else []  # of the shortcut
        before = side
    return layers
