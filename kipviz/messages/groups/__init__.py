"""Messages of regular groups: members, offsets, operators."""
