"""What to install: for this machine or one you describe, with the matrix's engine, as lines to paste.

machine.py   the machine in question
choice.py    a candidate as requests for pip, uv and conda
formats.py   requirements, pyproject, Dockerfile, environment.yml
text.py      the answer for people
"""
