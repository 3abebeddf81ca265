"""Who fills the slots: the options, and the named designs made of them."""
