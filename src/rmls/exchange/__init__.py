"""Models in other hands: cards that describe them, the Hugging Face Hub, ONNX, Arrow."""

from rmls.exchange.arrow import to_arrow
from rmls.exchange.card import make_card
from rmls.exchange.hub import from_hub, pull, push
from rmls.exchange.onnx import to_onnx

__all__ = ["from_hub", "make_card", "pull", "push", "to_arrow", "to_onnx"]
