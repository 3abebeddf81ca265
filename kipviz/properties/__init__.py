"""What must hold under every design: each property is a fold over events."""
