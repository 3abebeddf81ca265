"""What a served cluster does by the clock of this machine."""
