"""Fix steps as data: what to do, where, and which facts it changes."""
