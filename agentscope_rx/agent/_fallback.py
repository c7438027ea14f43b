"""Another model where one fails."""

from __future__ import annotations

from typing import Final

import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent, ModelCallEndEvent, ModelCallStartEvent
from agentscope_rx.interop import words_of
from agentscope_rx.typing import Operator

__all__ = ["or_else"]

_FRAME: Final = frozenset({ModelCallStartEvent, ModelCallEndEvent})


def or_else(fallback: Observable[AgentEvent]) -> Operator[AgentEvent, AgentEvent]:
    """Go on with another model call where this one fails before it has said anything.

    1. Start and End of a model call say nothing, so that both calls show.
    2. After anything else a failure is final: nothing is said twice.
    3. A mistake in the configuration is no failure of the model.

    Errors: those of the source, where `fallback` is not asked; else its own, with a note of the first.
    """

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        def subscribed(_: object) -> Observable[AgentEvent]:
            said = False

            def note(event: AgentEvent) -> None:
                nonlocal said
                said = said or type(event) not in _FRAME

            def failed(error: Exception, _: object) -> Observable[AgentEvent]:
                if said or isinstance(error, ConfigurationError):
                    return rx.throw(error)

                def tell(second: Exception) -> None:
                    second.add_note(f"and the model before it failed with {words_of(error)}")

                return fallback.pipe(ops.do_action(on_error=tell))

            return source.pipe(ops.do_action(note), ops.catch(failed))

        return rx.defer(subscribed)

    return operator
