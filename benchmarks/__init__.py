"""How fast agentscope_rx is, as ratios to its peers: `python -m benchmarks` (see README.md).

_environment   the peers' own virtual environment
_measure       costs, interleaved rounds, quartiles
_comparison    one of ours against its rivals, and their goals
_report        tables, JSON, README
*_rows         the rows of the table, a file for each part of the library
"""
