"""Messages of share groups: members, records, states, operators."""
