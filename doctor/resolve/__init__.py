"""What to install here: a machine in words or as it is, the matrix' engine, and lines to paste.

machine.py   the machine that is asked about
choice.py    a candidate as requests for pip, uv and conda
formats.py   requirements, pyproject, Dockerfile, environment.yml
text.py      the answer for people
"""
