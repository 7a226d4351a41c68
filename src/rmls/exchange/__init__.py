"""Models in other hands: cards that describe them, the Hugging Face Hub, ONNX."""

from rmls.exchange.card import make_card
from rmls.exchange.hub import from_hub, pull, push

__all__ = ["from_hub", "make_card", "pull", "push"]
