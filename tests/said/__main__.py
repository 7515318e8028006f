"""`python -m tests.said`: write the tables again; with arguments of pytest, add what these tests make checks say."""

import sys

from . import main

sys.exit(main(sys.argv[1:]))
