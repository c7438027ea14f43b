"""Java's 38 transcripts, replayed: the same streams, or others that the document demands, and why."""

from __future__ import annotations

import asyncio
import re
from typing import Final

import pytest

from tests.agent.transcripts import SETUPS, java, plain, render

ORDER: Final = (
    "blocks stand in order of arrival: one that another kind interrupts ends, and goes on as a new one"
)
CALLS: Final = (
    "parallel calls stay open side by side; their fragments never mix, and all end with the model call"
)
HELD: Final = (
    "a `{}` is held back until more of the arguments or the end comes, since it may be a placeholder"
)
LIVE: Final = "each result ends as its tool finishes, not when the slowest does"
TEXT: Final = "a string that a tool returns is the result as it is, no JSON text; what it emits is part of it"
NOTHING: Final = "nothing is no word `null`"
WORDS: Final = "a text that the model can act on: the tools that there are, the arguments that are no object"
PARSED: Final = "arguments that come parsed are streamed too, and so the tool can run"
FAILED: Final = "a call that fails ends what is open, and has its AgentEnd, before its error"
INTERRUPTED: Final = "an interrupt ends what is open and gives open calls a result `interrupted`"
CANCELLED: Final = "an interrupt cancels running tools instead of waiting for them"
REMINDED: Final = (
    "an empty answer gets one reminder, a hint in the message, then the reply ends with what there is"
)
MESSAGE: Final = "every call has a message"
ASKING: Final = "the question shows the calls in the state that they are in"
RUNS: Final = "what is allowed in a batch runs before the question"
ALL_ANSWERS: Final = "a human answers all questions at once; nothing changes otherwise"
DENIED: Final = "a denial is a result, streamed as any other"
ALL_DENIED: Final = (
    "AllToolsDenied passes through on_acting into the stream, and so does what a middleware adds"
)
OUTSIDE: Final = (
    "an external call has no result before its outcome, and a tool that suspends itself no output"
)
SUBMITTED: Final = "calls that wait for the outside are submitted, and named again until their outcome comes"
HINT: Final = "words beside answers become a hint in the reply that goes on"
ANY_REASON: Final = "a stop stops, whatever its reason"
VISIBLE: Final = "what a middleware adds in on_acting is streamed, and stored, as everywhere"
STREAMED: Final = "what is streamed is what is stored: without its arguments the call cannot run"
ENDS_WITH_IT: Final = "the reply ends when the structured output is there and the other calls have run"
NO_FALLBACK: Final = "nothing begins anew behind what was streamed; a failure of the model is one"
DEEP: Final = "subagents of any depth stream, with their path as source"
FRAMED: Final = "a subagent's events pass as they are, its own reply id, start, result and end with them"
ARGUMENTS: Final = "an agent as a tool is told what to do"

OURS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "A3": (
        (ORDER,),
        "AS MS TS TD«a» TE HS HD«t1» HE TS TD«b» TE HS HD«t2» HE ME AR[MODEL_STOP] AE",
    ),
    "A4": (
        (TEXT,),
        'AS MS TS TD«let me » TE CS:c1 CD:c1«{"a":1,"b":2}» CE:c1 ME RS:c1 RT:c1«3» RE:c1=success MS TS '
        "TD«3» TE ME AR[MODEL_STOP] AE",
    ),
    "A5": (
        (TEXT,),
        'AS MS TS TD«pre » TE CS:c1 CD:c1«{"a":1,"b":2}» TS TD«post» TE CE:c1 ME RS:c1 RT:c1«3» '
        "RE:c1=success MS TS TD«3» TE ME AR[MODEL_STOP] AE",
    ),
    "A6": (
        (
            CALLS,
            LIVE,
            TEXT,
        ),
        'AS MS CS:c1 CD:c1«{"ms":200}» CS:c2 CD:c2«{"ms":50}» CS:c3 CD:c3«{"ms":100}» CS:c4 '
        'CD:c4«{"ms":10}» CE:c1 CE:c2 CE:c3 CE:c4 ME RS:c1 RS:c2 RS:c3 RS:c4 RT:c4«q10» RE:c4=success '
        "RT:c2«chunk50» RE:c2=success RT:c3«q100» RE:c3=success RT:c1«chunk200» RE:c1=success MS TS "
        "TD«ok» TE ME AR[MODEL_STOP] AE",
    ),
    "A7": (
        (
            CALLS,
            TEXT,
        ),
        'AS MS CS:c1 CD:c1«{"a":1,» CS:c2 CD:c2«{"a":5,» CD:c1«"b":2}» CD:c2«"b":6}» CE:c1 CE:c2 ME RS:c1 '
        "RS:c2 RT:c1«3» RE:c1=success RT:c2«11» RE:c2=success MS TS TD«ok» TE ME AR[MODEL_STOP] AE",
    ),
    "A8": (
        (
            CALLS,
            TEXT,
        ),
        'AS MS CS:c1 CD:c1«{"a":1,» CS:c2 CD:c2«{"a":5,» CD:c1«"b":2}» CD:c2«"b":6}» CE:c1 CE:c2 ME RS:c1 '
        "RS:c2 RT:c1«3» RE:c1=success RT:c2«11» RE:c2=success MS TS TD«ok» TE ME AR[MODEL_STOP] AE",
    ),
    "A9": (
        (
            PARSED,
            TEXT,
        ),
        'AS MS CS:c1 CD:c1«{"a":1,"b":2}» CE:c1 ME RS:c1 RT:c1«3» RE:c1=success MS TS TD«ok» TE ME '
        "AR[MODEL_STOP] AE",
    ),
    "A10": (
        (
            CALLS,
            HELD,
            LIVE,
            NOTHING,
        ),
        "AS MS CS:c1 CD:c1«{}» CE:c1 ME RS:c1 RT:c1«see» RD:c1 RE:c1=success MS CS:c2 CS:c3 CS:c4 "
        "CD:c2«{}» CE:c2 CD:c3«{}» CE:c3 CD:c4«{}» CE:c4 ME RS:c2 RS:c3 RS:c4 RE:c2=success RE:c3=success "
        "RE:c4=success MS TS TD«ok» TE ME AR[MODEL_STOP] AE",
    ),
    "A11": (
        (
            CALLS,
            HELD,
            LIVE,
            WORDS,
        ),
        'AS MS CS:c1 CS:c2 CS:c3 CD:c3«{"a":1}» CS:c4 CD:c4«{oops» CD:c1«{}» CE:c1 CD:c2«{}» CE:c2 CE:c3 '
        "CE:c4 ME RS:c1 RS:c2 RT:c2«Error: Tool not found: 'nope'.…» RE:c2=error RS:c3 "
        "RT:c3«Error: Parameter validation fa…» RE:c3=error RS:c4 RT:c4«Error: The arguments of tool '…» "
        "RE:c4=error RT:c1«Error: Tool execution failed: …» RE:c1=error MS TS TD«ok» TE ME AR[MODEL_STOP] "
        "AE",
    ),
    "A12": (
        (TEXT,),
        'AS MS CS:c1 CD:c1«{"a":1,"b":2}» CE:c1 ME RS:c1 RT:c1«3» RE:c1=success MS CS:c2 '
        'CD:c2«{"a":1,"b":2}» CE:c2 ME RS:c2 RT:c2«3» RE:c2=success XI MS TS TD«summary» TE ME '
        "AR[MAX_ITERATIONS] AE",
    ),
    "A13": (
        (
            TEXT,
            FAILED,
        ),
        'AS MS CS:c1 CD:c1«{"a":1,"b":2}» CE:c1 ME RS:c1 RT:c1«3» RE:c1=success XI MS ME AE !error',
    ),
    "A14": (
        (FAILED,),
        "AS MS TS TD«par» TE ME AE !error",
    ),
    "A15": (
        (INTERRUPTED,),
        'AS MS HS HD«T» HE TS TD«par» TE CS:c1 CD:c1«{"a":1,» CE:c1 ME RS:c1 '
        "RT:c1«Error: interrupted by the user» RE:c1=interrupted AR[INTERRUPTED] AE",
    ),
    "A16": (
        (
            CALLS,
            LIVE,
            TEXT,
            CANCELLED,
        ),
        'AS MS CS:c1 CD:c1«{"ms":300}» CS:c2 CD:c2«{"ms":10}» CE:c1 CE:c2 ME RS:c1 RS:c2 RT:c2«q10» '
        "RE:c2=success RE:c1=interrupted AR[INTERRUPTED] AE",
    ),
    "A17": (
        (REMINDED,),
        "AS MS HS HD«only» HE ME HB MS TS TD«  » TE ME AR[MODEL_STOP] AE",
    ),
    "A18": (
        (
            REMINDED,
            MESSAGE,
        ),
        "AS MS ME HB MS ME AR[MODEL_STOP] AE",
    ),
    "A19": (
        (
            CALLS,
            TEXT,
            ASKING,
            RUNS,
        ),
        'AS MS TS TD«pre» TE CS:c1 CD:c1«{"x":"1"}» CS:c2 CD:c2«{"x":"2"}» CS:c3 CD:c3«{"a":1,"b":2}» '
        "CE:c1 CE:c2 CE:c3 ME RS:c3 RT:c3«3» RE:c3=success QC[c1/asking,c2/asking] ST[PERMISSION_ASKING] "
        "AR[PERMISSION_ASKING] AE",
    ),
    "A20": (
        (ALL_ANSWERS,),
        "!error",
    ),
    "A21": (
        (
            DENIED,
            TEXT,
            RUNS,
        ),
        "AS UC[c1,c2] RS:c2 RT:c2«Permission denied by user» RE:c2=denied RS:c1 RT:c1«g1» RE:c1=success "
        "MS TS TD«fin» TE ME AR[MODEL_STOP] AE",
    ),
    "A22": (
        (
            DENIED,
            ALL_DENIED,
        ),
        "AS UC[c1,c2] RS:c1 RT:c1«Permission denied by user» RE:c1=denied RS:c2 "
        "RT:c2«Permission denied by user» RE:c2=denied AD MS TS TD«fin» TE ME AR[MODEL_STOP] AE",
    ),
    "A23": (
        (
            DENIED,
            ALL_DENIED,
        ),
        "AS UC[c1,c2] RS:c1 RT:c1«Permission denied by user» RE:c1=denied RS:c2 "
        "RT:c2«Permission denied by user» RE:c2=denied AD ST[ALL_TOOLS_DENIED] AR[ALL_TOOLS_DENIED] AE",
    ),
    "A24": (
        (
            CALLS,
            TEXT,
        ),
        'AS MS CS:c1 CD:c1«{"x":"1"}» CS:c3 CD:c3«{"a":1,"b":2}» CE:c1 CE:c3 ME RS:c1 '
        "RT:c1«Permission denied by rules» RE:c1=denied RS:c3 RT:c3«3» RE:c3=success MS TS TD«fin» TE ME "
        "AR[MODEL_STOP] AE",
    ),
    "A25": (
        (
            CALLS,
            TEXT,
            OUTSIDE,
            SUBMITTED,
        ),
        'AS MS CS:c1 CD:c1«{"q":"1"}» CS:c2 CD:c2«{"q":"2"}» CS:c3 CD:c3«{"a":1,"b":2}» CE:c1 CE:c2 CE:c3 '
        "ME RS:c2 RS:c3 RE:c2=running RT:c3«3» RE:c3=success QX[c1/submitted,c2/submitted] "
        "AR[TOOL_SUSPENDED] AE",
    ),
    "A26": (
        (
            OUTSIDE,
            SUBMITTED,
        ),
        "AS UX[c1] QX[c2/submitted] AR[TOOL_SUSPENDED] AE",
    ),
    "A27": (
        (HINT,),
        "AS UX[c2] HB MS TS TD«fin» TE ME AR[MODEL_STOP] AE",
    ),
    "A29": (
        (ANY_REASON,),
        'AS MS TS TD«pre» TE CS:c1 CD:c1«{"a":1,"b":2}» CE:c1 ME ST[REASONING_STOP_REQUESTED] '
        "AR[REASONING_STOP_REQUESTED] AE",
    ),
    "A30": (
        (
            TEXT,
            VISIBLE,
        ),
        'AS MS CS:c1 CD:c1«{"a":1,"b":2}» CE:c1 ME RS:c1 RT:c1«3» RE:c1=success '
        "ST[MIDDLEWARE_STOP_REQUESTED] AR[MIDDLEWARE_STOP_REQUESTED] AE",
    ),
    "A31": (
        (STREAMED,),
        "AS CU(inj-onModelCall) MS TS TD«HELLO» TE CS:c1 CE:c1 ME RS:c1 "
        "RT:c1«Error: Parameter validation fa…» RE:c1=error CU(inj-onModelCall) MS TS TD«FIN» TE ME "
        "AR[MODEL_STOP] AE",
    ),
    "A33": (
        (TEXT,),
        'AS MS HS HD«T1» HE CS:c1 CD:c1«{"a":1,"b":2}» CE:c1 ME RS:c1 RT:c1«3» RE:c1=success MS HS HD«T2» '
        'HE CS:c2 CD:c2«{"response":{"city":"SF","t":3…» CE:c2 ME RS:c2 '
        "RT:c2«Successfully generated respons…» RE:c2=success AR[MODEL_STOP] AE",
    ),
    "A34": (
        (
            CALLS,
            TEXT,
            ENDS_WITH_IT,
        ),
        'AS MS CS:c1 CD:c1«{"response":{"city":"SF","t":3…» CS:c2 CD:c2«{"a":1,"b":2}» CE:c1 CE:c2 ME '
        "RS:c1 RS:c2 RT:c1«Successfully generated respons…» RE:c1=success RT:c2«3» RE:c2=success "
        "AR[MODEL_STOP] AE",
    ),
    "A36": (
        (
            FAILED,
            NO_FALLBACK,
        ),
        "AS MS TS TD«par» TE ME AE !error",
    ),
    "A38": (
        (
            DEEP,
            FRAMED,
            ARGUMENTS,
        ),
        'AS MS CS:k1 CD:k1«{"message":"go"}» CE:k1 ME RS:k1 AS@main/ch MS@main/ch CS:k2@main/ch '
        'CD:k2«{"message":"go"}»@main/ch CE:k2@main/ch ME@main/ch RS:k2@main/ch AS@main/ch/gr '
        "MS@main/ch/gr TS@main/ch/gr TD«GRAND»@main/ch/gr TE@main/ch/gr ME@main/ch/gr "
        "AR[MODEL_STOP]@main/ch/gr AE@main/ch/gr RT:k2«GRAND»@main/ch RE:k2=success@main/ch MS@main/ch "
        "TS@main/ch TD«CHILD»@main/ch TE@main/ch ME@main/ch AR[MODEL_STOP]@main/ch AE@main/ch "
        "RT:k1«CHILD» RE:k1=success MS TS TD«PARENT» TE ME AR[MODEL_STOP] AE",
    ),
}
"""The streams that are not Java's: the reasons, and what is streamed instead.

One difference is everywhere and not shown: all events of a reply carry its one reply id.
"""


@pytest.mark.parametrize("number", java())
def test_a_transcript_of_java_is_streamed_as_the_document_has_it(number: str) -> None:
    _, theirs = java()[number]
    reasons, ours = OURS.get(number, ((), ""))
    expected = re.findall(r"(?:[^\s«]|«[^»]*»)+", ours) or plain(theirs)

    assert (expected == plain(theirs)) == (not reasons), "a difference needs a reason, and a reason one"
    assert render(asyncio.run(SETUPS[number]())) == expected


def test_all_38_are_replayed() -> None:
    assert list(java()) == [f"A{number}" for number in range(1, 39)]
    assert SETUPS.keys() == java().keys()
