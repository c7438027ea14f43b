"""`python -m agentscope_rx` is `agentscope-rx`."""

from agentscope_rx.cli import main

main(prog_name="agentscope-rx")
