"""A model that does what a test says, on loopback, in the wire formats of four providers."""

from tests.agents.model.script import Call
from tests.agents.model.server import Model, Step, Told

__all__ = ["Call", "Model", "Step", "Told"]
