"""Files that say which packages a project installs: each kind read to the same lines, and edited in place."""
