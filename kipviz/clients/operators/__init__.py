"""The admin client, and the command lines of an operator."""
