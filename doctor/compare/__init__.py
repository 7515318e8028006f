"""Two looks at a machine, or at two machines: what changed, and which change explains what is broken now."""
