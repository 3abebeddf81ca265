"""Why something is as it is: who made it so, what holds it back, and who believes what."""
