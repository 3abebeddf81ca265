"""What must hold, whatever the design: each property is a fold over what happens."""
