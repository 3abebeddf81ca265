"""The TransactionSession (KIP-1310, draft), and the clients that are bound to it."""
