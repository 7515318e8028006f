"""Files that say which packages a project installs: each kind is read into the same lines, and edited in place."""
