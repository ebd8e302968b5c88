"""Arm a runner once its model is loaded.

Only ``load_model`` is wrapped on the class; all else is wrapped on the one runner instance, so
that what is armed can be listed and nothing is touched in processes without a model.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def after_load(runner_class: Any, arm: Callable[[Any], Any]) -> None:
    """Have ``arm(runner)`` called once, after the runner's model is loaded."""
    native = runner_class.load_model

    @functools.wraps(native)
    def load_model(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = native(self, *args, **kwargs)
        if getattr(self, "reprise", None) is None:
            self.reprise = arm(self)
        return result

    runner_class.load_model = load_model
