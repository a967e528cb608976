"""Many machines with one memory, in memory: random work, partitions, skewed clocks, and an oracle that checks every merge.

    command.py                     the command line, progress and figures
    world.py                       one run: machines, who meets whom, the laws at each merge
    machine.py store.py            a machine with its files; the commits that all of them make
    operations.py                  what happens on a machine, and how often
    conversations.py queue.py documents.py others.py    the operations, by what they touch
    facts.py oracle.py validity.py what a tree says; what it must say; what every reader of its files relies on

Merging, deciding, reverting and rewriting is done by the functions of the product; what is checked is worked out without them.
"""
