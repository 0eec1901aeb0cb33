"""Random inputs of documented types: only our own errors may come out.

    python -m tests.fuzz --number 1000 --seed 1               # every target in turn
    python -m tests.fuzz --number 2000 --start 1000 --seed 1  # the next thousand
    python -m tests.fuzz --half usual --number 1000 --seed 1  # without hostile tables
    python -m tests.fuzz --target riskeval.suda --seed 1 --input 17    # one input again

One (seed, target, number) gives one input, on any machine. Each target runs in a child process
that is ended when an input takes too long.
"""
