"""The wire: values of ours as JSON that Java's peers read and write, and back.

Keys are camelCase and in Java's order, nulls are left out of events and written in messages, `type` is
written once; what Java does not know (the document's fields, and ours) is added, and left out again under
`java=True`. Reading is generous about form and strict about meaning: `WireError` says what is wrong, where.

`_shapes` says how a class looks, `_parts` describes it part by part; from that `_structure` and
`_unstructure` make the hooks of cattrs, and `_lane` a way past them for the events that streams are full of.
"""

from agentscope_rx.wire._codec import (
    dumps as dumps,
    dumps_event as dumps_event,
    dumps_msg as dumps_msg,
    from_dict as from_dict,
    loads as loads,
    loads_event as loads_event,
    loads_msg as loads_msg,
    to_dict as to_dict,
)
from agentscope_rx.wire._limits import DEFAULT as DEFAULT, UNLIMITED as UNLIMITED, Limits as Limits

__all__ = [
    "DEFAULT",
    "UNLIMITED",
    "Limits",
    "dumps",
    "dumps_event",
    "dumps_msg",
    "from_dict",
    "loads",
    "loads_event",
    "loads_msg",
    "to_dict",
]
