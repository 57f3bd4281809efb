"""How well each way of ranking finds the tool result that a query is about."""
