"""What is offered where a message of a text decides: the checks' own fixes, for the place that the text comes from."""
