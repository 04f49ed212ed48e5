"""What a caller of training may want to be told; gensim's names."""
from typing import Any

__all__ = ["CallbackAny2Vec"]


class CallbackAny2Vec:
    """Told when training begins and ends, and each epoch; `model` may be asked meanwhile.

    >>> class Count(CallbackAny2Vec):
    ...     epochs = 0
    ...     def on_epoch_end(self, model):
    ...         self.epochs += 1
    >>> from shoal.models import Word2Vec
    >>> count = Count()
    >>> model = Word2Vec([["a", "b", "c"]] * 20, vector_size=4, min_count=1, epochs=3, callbacks=[count])
    >>> count.epochs
    3
    """

    def on_train_begin(self, model: Any) -> None:
        """Before the first epoch."""

    def on_train_end(self, model: Any) -> None:
        """Behind the last one."""

    def on_epoch_begin(self, model: Any) -> None:
        """Before each epoch."""

    def on_epoch_end(self, model: Any) -> None:
        """Behind each epoch."""
